//! Two doors: a kernel lowered from Python, and Triton's own IR of it, leave the same bits in memory.
//!
//! Both run on the same drawn inputs. Where one finds a fault the other must find one of the same code; then faults are
//! looked past, and the bits are compared all the same.
//!
//! `tests/kernel/source` holds Triton's IR before any pass, `tests/kernel/triton` what its ttir stage makes of it, both of
//! kernels of `tests/kernel/lower` (`tools/dump_ttir.py` writes them); `tools/compare_doors.py` asks about templates and
//! public kernels. The ttir stage changes rounding where it folds an addition into a dot or makes one of a sum of
//! products; what it does so is done here, too, and named in `kernel::passes::combine`.

use super::drawn::{Draw, launch, run};
use crate::emulate::Buffer;
use crate::kernel::{Kernel, Verified};
use crate::tensor::Storage;

/// What two kernels of the same parameters did.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// The same bits; with the code of the fault that both found before.
    Same(Option<String>),
    /// Neither ended, by the same limit.
    Endless(String),
    Differ(String),
}

/// Runs both.
pub fn compare(ours: &Verified<Kernel>, theirs: &Verified<Kernel>, draw: &Draw) -> Verdict {
    // A pointee has no sign in Triton's text.
    let types = |kernel: &Kernel| kernel.params.iter().map(|p| kernel.ty(p.value).to_string()).collect::<Vec<_>>();
    let (mine, other) = (types(ours), types(theirs));
    if mine != other {
        return Verdict::Differ(format!("parameters {} instead of {}", other.join(", "), mine.join(", ")));
    }
    let outcomes = [ours, theirs].map(|kernel| run(kernel, launch(ours, draw), draw));
    let (a, b) = match outcomes {
        [Ok(a), Ok(b)] => (a, b),
        [Err(a), Err(b)] if a.code == b.code => return Verdict::Endless(a.code.id.to_owned()),
        [a, b] => {
            let told = |outcome: Result<_, Box<crate::diag::Diagnostic>>| outcome.map_or_else(|e| e.code.id, |_| "runs");
            return Verdict::Differ(format!("{}, ours {}", told(b.map(|_| ())), told(a.map(|_| ()))));
        }
    };
    let code = |fault: &Option<Box<crate::diag::Diagnostic>>| fault.as_ref().map(|fault| fault.code.id.to_owned());
    let (fault, other) = (code(&a.fault), code(&b.fault));
    if fault != other {
        let told = |fault: Option<String>| fault.unwrap_or_else(|| "no fault".to_owned());
        return Verdict::Differ(format!("{}, ours {}", told(other), told(fault)));
    }
    match (a.memory, b.memory) {
        (Some(a), Some(b)) => {
            let differ = a.buffers.iter().zip(&b.buffers).find_map(|(a, b)| {
                let at = first_difference(a, &b.lanes)?;
                let [ours, theirs] = [&a.lanes, &b.lanes].map(|lanes| number(lanes, at));
                Some(format!("{}[{at}] is {theirs}, ours {ours}", a.name))
            });
            differ.map_or(Verdict::Same(fault), Verdict::Differ)
        }
        (None, None) => Verdict::Endless(fault.unwrap_or_default()),
        (Some(_), None) => Verdict::Differ("it does not end, ours does".to_owned()),
        (None, Some(_)) => Verdict::Differ("it ends, ours does not".to_owned()),
    }
}

/// An element, with as many digits as its carrier has.
fn number(lanes: &Storage, at: usize) -> String {
    match lanes {
        Storage::F32(lanes) => format!("{:e}", lanes[at]),
        Storage::F64(lanes) => format!("{:e}", lanes[at]),
        Storage::I64(lanes) => lanes[at].to_string(),
        Storage::Bool(lanes) => lanes[at].to_string(),
    }
}

/// The first element whose bits differ. In Triton's IR integers have no sign, so each door may read a byte its own way.
fn first_difference(ours: &Buffer, theirs: &Storage) -> Option<usize> {
    let wrap = |value: i64| ours.dtype.map_or(value, |dtype| dtype.wrap(value));
    let differ: Box<dyn Fn(usize) -> bool> = match (&ours.lanes, theirs) {
        (Storage::F32(x), Storage::F32(y)) => Box::new(|i| x[i].to_bits() != y[i].to_bits()),
        (Storage::F64(x), Storage::F64(y)) => Box::new(|i| x[i].to_bits() != y[i].to_bits()),
        (Storage::I64(x), Storage::I64(y)) => Box::new(move |i| wrap(x[i]) != wrap(y[i])),
        (Storage::Bool(x), Storage::Bool(y)) => Box::new(|i| x[i] != y[i]),
        _ => Box::new(|_| true),
    };
    (0..ours.lanes.len()).find(|&i| differ(i))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::kernel::filetests;
    use crate::kernel::passes::Version;
    use crate::source::SourceFile;

    /// How Triton's text of a kernel differs from ours; `None` when it does not.
    fn difference(path: &Path, triton: Version) -> Option<String> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut parts = name.split('.').next().unwrap().splitn(3, '_');
        let (python, number) = (parts.next().unwrap(), parts.next().unwrap().parse::<usize>().unwrap());
        let ours = match filetests::nth(python, number) {
            Ok(kernel) => kernel,
            Err(error) => return Some(format!("ours is refused: {}", error.message)),
        };
        let file = SourceFile::new(name, std::fs::read_to_string(path).unwrap());
        let theirs = match crate::kernel::parse(&file) {
            Ok(kernel) => kernel,
            Err(error) => return Some(format!("not read: {error}")),
        };
        match compare(&ours, &theirs, &Draw { triton, ..Draw::default() }) {
            Verdict::Same(_) => None,
            Verdict::Endless(limit) => Some(format!("neither ends: {limit}")),
            // Emulated numbers may differ between kinds of CPU: which buffer is enough.
            Verdict::Differ(how) => Some(how.split_once('[').map_or(how.clone(), |(buffer, _)| format!("{buffer} differs"))),
        }
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "ttir"));
        files.sort();
        assert!(!files.is_empty());
        files
    }

    /// One line a file that differs, and how many there are in all.
    fn differences(folder: &Path, triton: Version) -> (String, usize) {
        let files = files(folder);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let told = files.iter().filter_map(|path| Some(format!("{}: {}\n", name(path), difference(path, triton)?)));
        (told.collect(), files.len())
    }

    fn own(folder: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel").join(folder)
    }

    #[test]
    fn before_passes_both_doors_agree_to_the_bit() {
        let (told, _) = differences(&own("source"), Version::Since38);
        expect_test::expect![""].assert_eq(&told);
    }

    #[test]
    fn after_the_ttir_stage_the_doors_agree_to_the_bit() {
        let (told, _) = differences(&own("triton"), Version::Since38);
        expect_test::expect![""].assert_eq(&told);
    }

    /// The files are of Triton 3.9; what an older one makes is another number.
    #[test]
    fn sums_of_products_are_as_the_version_makes_them() {
        let (told, _) = differences(&own("triton"), Version::UpTo37);
        expect_test::expect![[r#"
            summed_0_products.ttir: x_ptr differs
            summed_1_products.ttir: x_ptr differs
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn a_difference_is_told() {
        let kernel = |text: &str| crate::kernel::parse(&SourceFile::new("k.ttir", text)).unwrap();
        let body = |what: &str| {
            kernel(&format!(
                "tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {{\n  %v = tt.load %p : !tt.ptr<f32>\n{what}  tt.store %p, %w : \
                 !tt.ptr<f32>\n  tt.return\n}}\n"
            ))
        };
        let (sum, product) = (body("  %w = arith.addf %v, %v : f32\n"), body("  %w = arith.mulf %v, %v : f32\n"));
        let beyond = body("  %q = tt.addptr %p, %n : !tt.ptr<f32>, i32\n  %w = tt.load %q : !tt.ptr<f32>\n");
        let draw = Draw { grid: Some([1, 1, 1]), elements: 4, ..Draw::default() };
        assert_eq!(compare(&sum, &sum, &draw), Verdict::Same(None));
        assert_eq!(compare(&sum, &product, &draw), Verdict::Differ("p[0] is 6.65856e-1, ours 1.632e0".to_owned()));
        assert_eq!(compare(&beyond, &beyond, &draw), Verdict::Same(Some("A001".to_owned())));
        assert_eq!(compare(&sum, &beyond, &draw), Verdict::Differ("A001, ours no fault".to_owned()));
        let longer = Draw { lengths: [("p".to_owned(), 64)].into(), scalars: [("n".to_owned(), 9.0)].into(), ..draw };
        assert_eq!(compare(&beyond, &beyond, &longer), Verdict::Same(None));
        let other = kernel("tt.func public @k(%p: !tt.ptr<f32>) {\n  tt.return\n}\n");
        assert!(matches!(compare(&sum, &other, &longer), Verdict::Differ(how) if how.starts_with("parameters")));
    }

    #[test]
    #[ignore = "needs a folder of TTIR, which tools/dump_ttir.py writes"]
    fn of_a_folder() {
        let [folder, version] = ["TTIR_FOLDER", "TRITON"].map(|name| std::env::var(name).unwrap());
        let (told, count) = differences(Path::new(&folder), Version::of(&version).unwrap());
        println!("{told}{} of {count} files agree", count - told.lines().count());
    }
}
