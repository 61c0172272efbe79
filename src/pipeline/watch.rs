//! What a suite's files looked like at a moment, so that a later look tells which of them changed.
//!
//! Files are asked for their time and length, and read only where these differ or where the time is so
//! young that a further write may have left it as it is (file systems count in steps of up to two
//! seconds); a hash then says whether the content is another one, so that a file that was saved
//! unchanged counts as unchanged. Verdicts, caches, hidden files and editors' backups (`name~`) are
//! nobody's input and are not looked at.
//!
//! Not seen: a file that changes and changes back between two looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::emit;
use crate::source::files;

use super::verdicts::VERDICTS;

/// The longest step in which a file system counts times.
const STEP: Duration = Duration::from_secs(2);

/// A suite's files, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, Stamp>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    digest: String,
}

impl Snapshot {
    /// Looks at a suite's files again. What vanishes or cannot be read meanwhile counts as removed: a
    /// save may be under way.
    pub fn again(&self, suite: &Path) -> Snapshot {
        let stamped = |path: String| {
            let file = suite.join(&path);
            let meta = fs::metadata(&file).ok()?;
            let (modified, len) = (meta.modified().ok(), meta.len());
            let settled = modified.is_some_and(|at| at.elapsed().is_ok_and(|age| age > STEP));
            let same = |stamp: &&Stamp| settled && stamp.modified == modified && stamp.len == len;
            let digest = match self.0.get(&path).filter(same) {
                Some(stamp) => stamp.digest.clone(),
                None => emit::digest(&files::bytes(&file, u64::MAX).ok()?),
            };
            Some((path, Stamp { modified, len, digest }))
        };
        let paths = emit::paths(suite).unwrap_or_default();
        Snapshot(paths.into_iter().filter(|path| is_input(path)).filter_map(stamped).collect())
    }

    /// The files whose content is another one than `before`, in order of their paths.
    pub fn changed(&self, before: &Snapshot) -> Vec<String> {
        let content = |snapshot: &Snapshot, path: &str| snapshot.0.get(path).map(|stamp| stamp.digest.clone());
        let mut paths: Vec<&String> = self.0.keys().chain(before.0.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().filter(|path| content(self, path) != content(before, path)).cloned().collect()
    }
}

fn is_input(path: &str) -> bool {
    path != VERDICTS && !path.ends_with('~') && !path.split('/').any(|part| part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn edits_additions_and_removals_are_changes_and_equal_saves_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for path in ["run.py", "kernels/a.py", "kernels/b.py"] {
            write(here, path, "one");
        }
        let first = Snapshot::default().again(here);
        assert_eq!(first.changed(&Snapshot::default()), ["kernels/a.py", "kernels/b.py", "run.py"]);
        write(here, "run.py", "one");
        assert_eq!(first.again(here).changed(&first), Vec::<String>::new());
        // The same length within one step of the clock.
        write(here, "kernels/a.py", "two");
        write(here, "kernels/c.py", "new");
        fs::remove_file(here.join("kernels/b.py")).unwrap();
        let second = first.again(here);
        assert_eq!(second.changed(&first), ["kernels/a.py", "kernels/b.py", "kernels/c.py"]);
        assert_eq!(first.changed(&second), second.changed(&first));
    }

    #[test]
    fn a_file_that_looks_old_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "run.py", "one");
        let file = fs::File::options().write(true).open(folder.path().join("run.py")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        let mut before = Snapshot::default().again(folder.path());
        before.0.get_mut("run.py").unwrap().digest = "kept".to_owned();
        assert_eq!(before.again(folder.path()), before);
    }

    #[test]
    fn what_tools_leave_behind_is_no_input() {
        let folder = tempfile::tempdir().unwrap();
        let before = Snapshot::default().again(folder.path());
        for path in ["verdicts.json", "run.py~", ".run.py.swp", "kernels/__pycache__/a.pyc", ".git/index"] {
            write(folder.path(), path, "x");
        }
        assert_eq!(before.again(folder.path()), before);
    }

    #[test]
    fn a_folder_that_is_away_has_no_files() {
        assert_eq!(Snapshot::default().again(Path::new("nowhere/at/all")), Snapshot::default());
    }
}
