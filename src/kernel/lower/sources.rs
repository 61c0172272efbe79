//! The files that a kernel is written over: its own and those that it imports from, read as lowering
//! asks for them.
//!
//! `a.b.c` is `a/b/c.py` or `a/b/c/__init__.py` below one of the *search folders*: the folder of the kernel's file and
//! those above it up to the *root*. The root is given, or is the folder that holds the outermost package of the
//! file (a folder is a package when it has an `__init__.py`, or lies a little below one that has one). A file outside the root is never read, also not through
//! a link. Modules of Triton, Python and torch are no files: `module_level` knows what is needed of them.
//!
//! All texts are joined (`SourceFile::join`), so that a span names a place in any of them. A module that lowering
//! comes to and that is not loaded yet is noted as *wanted*; [`Sources::with`] then loads it and
//! lowers again from the start: only what is used is read, and cycles need no care.
//!
//! Does not catch: `sys.path`, import hooks, names that a package sets from outside.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::{Names, TRY};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span, files};
use crate::syntax::ast::{Expr, ExprKind, Module, Stmt, StmtKind};
use crate::syntax::reopen::{self, Comprehension};
use crate::syntax::{parse_joined, walk};

/// Files of one kernel; more are refused.
const MAX_FILES: usize = 256;

/// Folders without `__init__.py` that may lie between a file, or a package, and the package above.
const MAX_GAP: usize = 2;

/// A larger file is refused.
const MAX_BYTES: u64 = 16 << 20;

/// A file and what it imports.
#[derive(Debug)]
pub struct Sources {
    loaded: Vec<Loaded>,
    joined: Arc<SourceFile>,
    /// `None` where nothing but the one text may be read.
    root: Option<PathBuf>,
}

#[derive(Debug)]
struct Loaded {
    /// As the file system spells it, links resolved.
    path: PathBuf,
    /// Dotted name of the folder.
    package: String,
    module: Module,
    comprehensions: Comprehensions,
}

/// Comprehensions of a module, by where they begin and end.
pub type Comprehensions = BTreeMap<Span, Comprehension>;

impl Sources {
    /// A text alone: imports of anything but Triton and Python are refused.
    pub fn single(module: Module) -> Sources {
        let joined = module.file.clone();
        let loaded = Loaded::new(PathBuf::new(), String::new(), module, &joined);
        Sources { joined, loaded: vec![loaded], root: None }
    }

    /// A file, and below the root whatever it imports. Errors: U001 where the file cannot be read, S001 where it
    /// is not Python.
    pub fn open(path: &Path, root: Option<&Path>) -> Result<Sources> {
        let unreadable = |path: &Path, error: std::io::Error| {
            Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, error.to_string()).in_file(path.display().to_string()))
        };
        let full = path.canonicalize().map_err(|error| unreadable(path, error))?;
        let folder = full.parent().unwrap_or(&full);
        let root = match root {
            Some(root) => root.canonicalize().map_err(|error| unreadable(root, error))?,
            None => outermost_package(folder).and_then(Path::parent).unwrap_or(folder).to_owned(),
        };
        let mut sources = Sources { loaded: Vec::new(), joined: SourceFile::new("", ""), root: Some(root) };
        sources.load(&full, path)?;
        Ok(sources)
    }

    /// A module that is read already, with what it imports where its name is that of a file.
    pub fn around(module: Module) -> Sources {
        let Ok(path) = Path::new(module.file.name()).canonicalize() else { return Sources::single(module) };
        let folder = path.parent().unwrap_or(&path);
        let root = outermost_package(folder).and_then(Path::parent).unwrap_or(folder).to_owned();
        let mut sources = Sources { loaded: Vec::new(), joined: module.file.clone(), root: Some(root) };
        let package = sources.package_of(&path);
        sources.loaded.push(Loaded::new(path, package, module, &sources.joined));
        sources
    }

    /// The file that was opened.
    pub fn module(&self) -> &Module {
        &self.loaded[0].module
    }

    /// All texts as one.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.joined
    }

    /// Reads a file; `shown` is its name in messages.
    fn load(&mut self, path: &Path, shown: &Path) -> Result<()> {
        let refuse =
            |message: String| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(shown.display().to_string()));
        if self.loaded.len() == MAX_FILES {
            return Err(refuse(format!("a kernel of more than {MAX_FILES} files")));
        }
        let bytes = files::bytes(path, MAX_BYTES).map_err(|error| refuse(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("the file is not UTF-8".to_owned()))?;
        let file = SourceFile::new(shown.display().to_string(), text);
        let mut files: Vec<Arc<SourceFile>> = self.loaded.iter().map(|l| l.module.file.clone()).collect();
        let base = SourceFile::joined_length(&files);
        let module = parse_joined(&file, base)?;
        files.push(file);
        self.joined = SourceFile::join(&files);
        let package = self.package_of(path);
        let loaded = Loaded::new(path.to_owned(), package, module, &self.joined);
        self.loaded.push(loaded);
        Ok(())
    }

    /// The dotted name of a file's folder below the root.
    fn package_of(&self, path: &Path) -> String {
        let folder = path.parent().unwrap_or(path);
        let below = self.root.as_deref().and_then(|root| folder.strip_prefix(root).ok());
        let parts = below.into_iter().flat_map(Path::components).map(|c| c.as_os_str().to_string_lossy().into_owned());
        parts.collect::<Vec<_>>().join(".")
    }

    /// Runs work over the modules that are loaded, and again with each further one that it wants.
    pub(super) fn with<T>(&mut self, work: impl Fn(&Modules<'_>) -> Result<T>) -> Result<T> {
        loop {
            let modules = Modules::over(self);
            let outcome = work(&modules);
            let Some(wanted) = modules.wanted.into_inner() else { return outcome };
            let shown = match self.root.as_deref().and_then(|root| wanted.strip_prefix(root).ok()) {
                Some(below) => below.to_owned(),
                None => wanted.clone(),
            };
            self.load(&wanted, &shown)?;
        }
    }
}

impl Loaded {
    fn new(path: PathBuf, package: String, mut module: Module, joined: &Arc<SourceFile>) -> Loaded {
        open_tries(&mut module.body, joined);
        let mut comprehensions = Comprehensions::new();
        walk::each_stmt(&module.body, &mut |stmt| {
            let mut exprs = walk::own_exprs(stmt);
            if let StmtKind::Function(function) = &stmt.kind {
                exprs.extend(&function.decorators);
            }
            exprs.into_iter().for_each(|expr| collect(expr, joined, &mut comprehensions));
        });
        Loaded { path, package, module, comprehensions }
    }
}

/// Notes the comprehensions inside an expression.
fn collect(expr: &Expr, file: &Arc<SourceFile>, found: &mut Comprehensions) {
    let mut places = Vec::new();
    walk::each_expr(expr, &mut |inner| {
        if matches!(inner.kind, ExprKind::Other("list comprehension" | "generator expression")) {
            places.push(inner.span);
        }
    });
    for place in places {
        // What cannot be read again stays refused by name.
        let Ok(Some(comprehension)) = reopen::comprehension(file, place) else { continue };
        collect(&comprehension.element, file, found);
        for clause in &comprehension.clauses {
            collect(&clause.iter, file, found);
            clause.conditions.iter().for_each(|c| collect(c, file, found));
        }
        found.insert(place, comprehension);
    }
}

/// Rewrites `try` as an `if` whose test says [`TRY`]: what is tried, then what is done instead. (In a kernel it stays what it
/// is: refused.)
fn open_tries(stmts: &mut [Stmt], file: &Arc<SourceFile>) {
    for stmt in stmts {
        if matches!(stmt.kind, StmtKind::Other("try"))
            && let Ok(Some(opened)) = reopen::try_statement(file, stmt.span)
        {
            let body = [opened.body, opened.orelse, opened.finish].concat();
            let orelse = opened.handlers.into_iter().next().unwrap_or_default();
            stmt.kind = StmtKind::If { test: Expr { kind: ExprKind::Other(TRY), span: stmt.span }, body, orelse };
        }
        match &mut stmt.kind {
            StmtKind::If { body, orelse, .. } | StmtKind::For { body, orelse, .. } => {
                open_tries(body, file);
                open_tries(orelse, file);
            }
            StmtKind::Function(function) => open_tries(&mut function.body, file),
            StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Class { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AnnAssign { .. }
            | StmtKind::AugAssign { .. }
            | StmtKind::Expr(_)
            | StmtKind::While { .. }
            | StmtKind::Return(_)
            | StmtKind::Raise(_)
            | StmtKind::Assert { .. }
            | StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Other(_) => {}
        }
    }
}

/// The outermost of the packages that a folder is in. Python takes a folder without `__init__.py` as a package, too; few
/// of them may lie one above the other, or a stray `__init__.py` far above would open all that is below it.
fn outermost_package(folder: &Path) -> Option<&Path> {
    let is_package = |folder: &Path| folder.join("__init__.py").is_file();
    let mut outermost = None;
    let mut gap = 0;
    for folder in folder.ancestors() {
        gap = if is_package(folder) { 0 } else { gap + 1 };
        match gap {
            0 => outermost = Some(folder),
            1..=MAX_GAP => {}
            _ => break,
        }
    }
    outermost
}

/// What one run of lowering sees.
pub(super) struct Modules<'a> {
    pub file: Arc<SourceFile>,
    entries: Vec<Entry<'a>>,
    root: Option<&'a Path>,
    /// A file that must be loaded before lowering can end well.
    pub wanted: RefCell<Option<PathBuf>>,
}

struct Entry<'a> {
    path: &'a Path,
    module: &'a Module,
    names: Names<'a>,
    comprehensions: Option<&'a Comprehensions>,
    /// Where its text begins.
    start: u32,
}

/// What a dotted name leads to.
pub(super) enum Found {
    /// A loaded module, by number.
    Loaded(usize),
    /// A file that is wanted now.
    Wanted,
    /// A folder without `__init__.py` of its own.
    Folder,
    Nothing,
}

impl<'a> Modules<'a> {
    /// One borrowed module.
    pub fn single(module: &'a Module) -> Modules<'a> {
        let names = Names::of(module, "");
        let entry = Entry { path: Path::new(""), module, names, comprehensions: None, start: 0 };
        Modules { file: module.file.clone(), entries: vec![entry], root: None, wanted: RefCell::new(None) }
    }

    fn over(sources: &'a Sources) -> Modules<'a> {
        let mut start = 0;
        let entry = |loaded: &'a Loaded| {
            let names = Names::of(&loaded.module, &loaded.package);
            let here = start;
            start += loaded.module.file.text().len() as u32 + 1;
            Entry { path: &loaded.path, module: &loaded.module, names, comprehensions: Some(&loaded.comprehensions), start: here }
        };
        Modules {
            file: sources.joined.clone(),
            entries: sources.loaded.iter().map(entry).collect(),
            root: sources.root.as_deref(),
            wanted: RefCell::new(None),
        }
    }

    pub fn names(&self, module: usize) -> &Names<'a> {
        &self.entries[module].names
    }

    pub fn module(&self, module: usize) -> &'a Module {
        self.entries[module].module
    }

    /// The module whose text holds a place.
    pub fn of(&self, place: Span) -> usize {
        self.entries.partition_point(|entry| entry.start <= place.start).saturating_sub(1)
    }

    pub fn comprehension(&self, place: Span) -> Option<&'a Comprehension> {
        self.entries[self.of(place)].comprehensions?.get(&place)
    }

    /// The file of a dotted name, as an import in a module finds it.
    pub fn find(&self, from: usize, dotted: &str) -> Found {
        let Some(root) = self.root else { return Found::Nothing };
        if dotted.is_empty() || dotted.split('.').any(|part| part.is_empty() || part.contains(['/', '\\'])) {
            return Found::Nothing;
        }
        let below: PathBuf = dotted.split('.').collect();
        let mut folder_only = false;
        let folders = self.entries[from].path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        for folder in folders {
            let place = folder.join(&below);
            for file in [place.with_extension("py"), place.join("__init__.py")] {
                // `with_extension` would replace what follows a dot; parts of a dotted name have none.
                let Ok(file) = file.canonicalize() else { continue };
                if !file.is_file() || !file.starts_with(root) {
                    continue;
                }
                if let Some(loaded) = self.entries.iter().position(|entry| entry.path == file) {
                    return Found::Loaded(loaded);
                }
                *self.wanted.borrow_mut() = Some(file);
                return Found::Wanted;
            }
            folder_only |= place.is_dir();
        }
        if folder_only { Found::Folder } else { Found::Nothing }
    }

    /// Whether a dotted name is a file or a folder; nothing is wanted by asking.
    pub fn exists(&self, from: usize, dotted: &str) -> bool {
        let before = self.wanted.borrow().clone();
        let found = self.find(from, dotted);
        *self.wanted.borrow_mut() = before;
        !matches!(found, Found::Nothing)
    }

    pub fn is_waiting(&self) -> bool {
        self.wanted.borrow().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;
    use crate::dtype::DType;
    use crate::kernel::{ArgSpec, Specialization, compile_sources};

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    const HEAD: &str = "import triton\nimport triton.language as tl\n";

    fn spec() -> Specialization {
        Specialization { args: vec![("x".to_owned(), ArgSpec::Pointer(DType::F32))], ..Specialization::default() }
    }

    /// The kernel `k(x)` of a file, as IR or as its message.
    fn lower(root: &Path, file: &str) -> std::result::Result<String, String> {
        let told = |error: Box<Diagnostic>| render(&error, false).replace(&root.display().to_string(), "ROOT");
        let mut sources = Sources::open(&root.join(file), None).map_err(told)?;
        compile_sources(&mut sources, "k", &spec()).map(|kernel| kernel.to_string()).map_err(told)
    }

    #[test]
    fn helpers_come_from_files_of_the_package() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(
            root,
            &[
                ("pkg/__init__.py", ""),
                ("pkg/ops/__init__.py", "from .math import scale\nfrom pkg.consts import *\n"),
                (
                    "pkg/ops/math.py",
                    "import triton\nimport triton.language as tl\nfrom ..consts import FACTOR\nimport pkg.ops.kernel\n\
                     @triton.jit\ndef scale(v, f: tl.constexpr = FACTOR):\n    return v * f\n",
                ),
                (
                    "pkg/consts.py",
                    "import os\nimport triton.language as tl\nfrom triton import language\nFACTOR = tl.constexpr(3.0)\n\
                     HAS = hasattr(tl, 'gather')\nif os.environ.get('FAST', '0') == '1':\n    exp = language.exp2\nelse:\n    exp = tl.exp\n\
                     try:\n    from triton.language.extra import nowhere\nexcept ImportError:\n    nowhere = exp\n",
                ),
                (
                    "pkg/ops/kernel.py",
                    "import triton\nimport triton.language as tl\nimport pkg.ops.math as m\nfrom pkg import consts\nfrom . import scale\n\
                     from . import FACTOR\n@triton.jit\ndef k(x):\n    v = scale(tl.load(x)) + m.scale(1.5, f=2) + FACTOR\n    \
                     if consts.HAS:\n        v = consts.nowhere(v)\n    tl.store(x, v)\n",
                ),
            ],
        );
        let text = lower(root, "pkg/ops/kernel.py").unwrap();
        assert!(text.contains("math.exp %") && !text.contains("exp2"), "{text}");
        assert!(text.contains("3.000000e+00") && text.contains("arith.mulf"), "{text}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = |import: &str, use_: &str| format!("{HEAD}{import}\n@triton.jit\ndef k(x):\n    tl.store(x, {use_})\n");
        std::fs::write(root.join("outside.py"), "import triton.language as tl\nONE = tl.constexpr(1)\n").unwrap();
        write(
            root,
            &[
                ("in/__init__.py", ""),
                ("in/a.py", &kernel("from . import helpers", "helpers.nothing(1.0)")),
                ("in/b.py", &kernel("from .absent import f", "f(1.0)")),
                ("in/helpers.py", "def plain(x):\n    return x\n"),
                ("in/c.py", &kernel("from .helpers import plain", "plain(1.0)")),
                ("in/d.py", &kernel("from .broken import f", "f(1.0)")),
                ("in/broken.py", "def f(:\n"),
                ("alone/e.py", &kernel("import outside", "outside.ONE")),
            ],
        );
        let told: Vec<String> = ["in/a.py", "in/b.py", "in/c.py", "in/d.py", "alone/e.py"]
            .iter()
            .map(|file| lower(root, file).unwrap_err().lines().take(2).collect::<Vec<_>>().join(" "))
            .collect();
        expect_test::expect![[r#"
            [
                "error[K002]: `nothing` is not defined in in/helpers.py  --> ROOT/in/a.py:6:17",
                "unsupported[K001]: `in.absent.f`, which is neither in a file beside the kernel nor part of triton.language  --> ROOT/in/b.py:6:17",
                "error[K002]: `plain` is not a @triton.jit function  --> ROOT/in/c.py:6:17",
                "error[S001]: Expected a parameter or the end of the parameter list  --> in/broken.py:1:7",
                "unsupported[K001]: `outside.ONE`, which is neither in a file beside the kernel nor part of triton.language  --> ROOT/alone/e.py:6:17",
            ]
        "#]]
        .assert_debug_eq(&told);
    }

    #[test]
    fn packages_may_lack_their_mark() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = format!("{HEAD}from lib.consts import ONE\n@triton.jit\ndef k(x):\n    tl.store(x, ONE)\n");
        write(
            root,
            &[
                ("lib/__init__.py", ""),
                ("lib/consts.py", "import triton.language as tl\nONE = tl.constexpr(1)\n"),
                ("lib/ops/fast/k.py", &kernel),
                ("lib/ops/fast/very/k.py", &kernel),
            ],
        );
        assert!(lower(root, "lib/ops/fast/k.py").is_ok());
        assert!(lower(root, "lib/ops/fast/very/k.py").unwrap_err().contains("K001"), "too far below");
    }

    #[test]
    fn triton_may_be_handed_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = "from ..compat import tl, triton\n@triton.jit\ndef k(x, n: tl.constexpr = 3):\n    tl.store(x, tl.exp(tl.load(x)) + n)\n";
        write(
            root,
            &[
                ("lib/__init__.py", ""),
                ("lib/compat.py", "import importlib\ntriton = importlib.import_module('triton')\ntl = triton.language\n"),
                ("lib/ops/__init__.py", ""),
                ("lib/ops/k.py", kernel),
                ("lib/ops/other.py", &kernel.replace("tl, triton", "tl").replace("@triton.jit", "@decorated")),
            ],
        );
        assert!(lower(root, "lib/ops/k.py").unwrap().contains("math.exp"));
        assert!(lower(root, "lib/ops/other.py").unwrap_err().contains("K004"));
    }

    #[test]
    fn a_condition_reads_what_stood_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let kernel = |names: &str, value: &str| format!("{HEAD}{names}@triton.jit\ndef k(x):\n    tl.store(x, {value})\n");
        let ready = "READY = True\nif READY:\n    if not READY:\n        READY = False\n";
        let device = "if somewhere.known():\n    import triton.language.extra.libdevice as device\nelse:\n    device = None\n";
        write(
            root,
            &[
                ("a.py", &kernel(&format!("{ready}ONE = tl.constexpr(7) if READY else 2\n"), "ONE")),
                ("b.py", &kernel(device, "device.tanh(tl.load(x))")),
                ("c.py", &kernel("if ROUND:\n    ROUND = tl.constexpr(1)\n", "ROUND")),
                ("d.py", &kernel("BITS = tl.constexpr(tl.constexpr(4096).value.bit_length() - 1)\n", "BITS")),
            ],
        );
        assert!(lower(root, "a.py").unwrap().contains("constant 7 : i32"));
        assert!(lower(root, "b.py").unwrap().contains("tanh"));
        assert!(lower(root, "c.py").unwrap_err().contains("`ROUND` is not defined here"));
        assert!(lower(root, "d.py").unwrap().contains("constant 12 : i32"));
    }

    #[test]
    fn nothing_outside_the_root_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let text = format!("{HEAD}from helpers import ONE\n@triton.jit\ndef k(x):\n    tl.store(x, ONE)\n");
        write(root, &[("helpers.py", "import triton.language as tl\nONE = tl.constexpr(1)\n"), ("deep/k.py", &text)]);
        assert!(lower(root, "deep/k.py").unwrap_err().contains("K001"));
        let open = |given: &Path| {
            let mut sources = Sources::open(&root.join("deep/k.py"), Some(given)).unwrap();
            compile_sources(&mut sources, "k", &spec()).is_ok()
        };
        assert!(open(root));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("helpers.py"), root.join("deep/helpers.py")).unwrap();
            assert!(!open(&root.join("deep")), "a link leads out of the root");
        }
    }
}
