//! Lowering kernels alone, one or thousands: whether each reaches the verified IR, and what stops it.
//!
//! A request names a file, a kernel and the types of its arguments. Files are parsed once in a row of requests. A fault of
//! ours in one kernel is told as such and leaves the others alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emulate::Program;
use crate::kernel::passes::Version;
use crate::kernel::{self, ArgSpec, Kernel, Sources, Specialization, Verified};
use crate::launch::{entry, signature};
use crate::pipeline::compiled;
use crate::pipeline::doors::{self, Verdict};
use crate::pipeline::drawn::{self, Draw};
use crate::source::files;
use crate::syntax::Constant;

/// Elements that a drawn buffer may have.
const MOST_ELEMENTS: u64 = 1 << 24;

/// One kernel to lower.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub file: PathBuf,
    /// The only kernel of the file when `None`.
    pub entry: Option<String>,
    pub args: Vec<(String, ArgSpec)>,
    /// Whether the emulator shall say, too, if it can run the kernel.
    pub program: bool,
    /// How to run the kernel on drawn inputs, where that is asked for.
    pub run: Option<Draw>,
    /// Triton's own IR of the same kernel, to be run beside it.
    pub ttir: Option<PathBuf>,
}

/// Reads files with what they import, and keeps the last.
#[derive(Default)]
pub struct Lowerer {
    last: Option<(PathBuf, Sources)>,
}

/// The text of a kernel file. Errors: U002 when it cannot be read or is no text.
pub fn text(path: &Path) -> Result<String> {
    let unreadable = |what: String| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, what).in_file(path.display().to_string()));
    files::text(path).map_err(|e| unreadable(e.to_string()))
}

impl Lowerer {
    /// Lowers one kernel; its name comes first, as far as it is known.
    pub fn lower(&mut self, request: &Request) -> (String, Result<Verified<Kernel>>) {
        let asked = request.entry.clone().unwrap_or_default();
        if compiled::is_ir(&request.file) {
            let kernel = compiled::read(&request.file);
            return (kernel.as_ref().map_or(asked, |kernel| kernel.name.to_string()), kernel);
        }
        if self.last.as_ref().is_none_or(|(path, _)| *path != request.file) {
            match Sources::open(&request.file, None) {
                Ok(sources) => self.last = Some((request.file.clone(), sources)),
                Err(error) => return (asked, Err(error)),
            }
        }
        let (_, sources) = self.last.as_mut().expect("invariant: the file was just parsed");
        let (name, place) = match entry::choose(sources.module(), request.entry.as_deref()) {
            Ok(function) => (function.name.clone(), function.name_span),
            Err(error) => return (asked, Err(error)),
        };
        let file = sources.file().clone();
        let spec = Specialization { args: request.args.clone(), ..Specialization::default() };
        let lowered = catch_unwind(AssertUnwindSafe(|| kernel::compile_sources(sources, &name, &spec)));
        let lowered = lowered.unwrap_or_else(|_| {
            Err(Box::new(Diagnostic::new(&codes::INTERNAL, format!("lowering `{name}` panics")).at(&file, place)))
        });
        (name, lowered)
    }
}

/// A request as a line of JSON: `{"file": "k.py", "entry": "add", "args": {"x_ptr": "*f32", "n": "i32", "BLOCK": 64}}`.
/// A string is a type or a Python expression; any other value is a constexpr itself. With `"run": {"grid": [2, 1, 1],
/// "elements": 8192, "lengths": {"x_ptr": 100}, "scalars": {"n": 100}, "warnings": true, "triton": "3.9.0"}` (each may be
/// left out) the kernel is also run on drawn inputs, and with `"ttir": "k.ttir"` Triton's own IR of it beside it.
///
/// # Errors
/// U001 says what is wrong with the line.
pub fn request(line: &str) -> Result<Request> {
    let refuse = |what: String| Box::new(Diagnostic::new(&codes::USAGE, format!("{what}: {line}")));
    let value: Value = serde_json::from_str(line).map_err(|error| refuse(format!("a request is no JSON ({error})")))?;
    let Value::Object(fields) = value else { return Err(refuse("a request is no JSON object".to_owned())) };
    if let Some(other) =
        fields.keys().find(|key| !["file", "entry", "args", "program", "run", "ttir", "id"].contains(&key.as_str()))
    {
        return Err(refuse(format!("a request has file, entry, args, program, run, ttir and id, not `{other}`")));
    }
    let file = fields.get("file").and_then(Value::as_str).ok_or_else(|| refuse("a request names no `file`".to_owned()))?;
    let nothing = Map::new();
    let args = match fields.get("args") {
        None => &nothing,
        Some(Value::Object(args)) => args,
        Some(_) => return Err(refuse("`args` is no JSON object".to_owned())),
    };
    let args = args.iter().map(|(name, value)| {
        let spec = match value {
            Value::String(text) => signature::argument(text)?,
            other => ArgSpec::Constexpr(constant(other).ok_or_else(|| refuse(format!("`{name}` is no constexpr")))?),
        };
        Ok((name.clone(), spec))
    });
    let entry = fields.get("entry").and_then(Value::as_str).map(str::to_owned);
    let program = fields.get("program").and_then(Value::as_bool).unwrap_or(false);
    let run = fields.get("run").map(|value| draw(value).map_err(refuse)).transpose()?;
    let ttir = fields.get("ttir").and_then(Value::as_str).map(PathBuf::from);
    Ok(Request { file: PathBuf::from(file), entry, args: args.collect::<Result<_>>()?, program, run, ttir })
}

/// How to run. The error is a phrase.
fn draw(value: &Value) -> std::result::Result<Draw, String> {
    let Value::Object(fields) = value else { return Err("`run` is no JSON object".to_owned()) };
    let mut draw = Draw::default();
    for (key, value) in fields {
        let wrong = || format!("`{key}` of `run` is not what it must be");
        let numbers = || value.as_object().ok_or_else(wrong);
        let size = |value: &Value| value.as_u64().filter(|n| *n <= MOST_ELEMENTS).map(|n| n as usize).ok_or_else(wrong);
        match key.as_str() {
            "grid" => {
                let sizes = value.as_array().filter(|sizes| sizes.len() == 3).ok_or_else(wrong)?;
                let mut grid = [1; 3];
                for (axis, size) in grid.iter_mut().zip(sizes) {
                    *axis = size.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong)?;
                }
                draw.grid = Some(grid);
            }
            "elements" => draw.elements = size(value)?,
            "lengths" => {
                for (name, value) in numbers()? {
                    draw.lengths.insert(name.clone(), size(value)?);
                }
            }
            "scalars" => {
                for (name, value) in numbers()? {
                    draw.scalars.insert(name.clone(), value.as_f64().ok_or_else(wrong)?);
                }
            }
            "warnings" => draw.warnings = value.as_bool().ok_or_else(wrong)?,
            "triton" => draw.triton = value.as_str().and_then(Version::of).ok_or_else(wrong)?,
            _ => return Err(format!("`run` has grid, elements, lengths, scalars, warnings and triton, not `{key}`")),
        }
    }
    Ok(draw)
}

fn constant(value: &Value) -> Option<Constant> {
    Some(match value {
        Value::Null => Constant::None,
        Value::Bool(b) => Constant::Bool(*b),
        Value::Number(n) => n.as_i64().map(Constant::Int).or_else(|| n.as_f64().map(Constant::Float))?,
        Value::String(text) => Constant::Str(text.clone()),
        Value::Array(items) => Constant::Tuple(items.iter().map(constant).collect::<Option<_>>()?),
        Value::Object(_) => return None,
    })
}

/// The answer to a request: `kernel`, `ok`, and of a failure `code`, `message`, `line` and `file` (of the line).
pub fn answer<T>(kernel: &str, outcome: &Result<T>) -> Value {
    match outcome {
        Ok(_) => json!({"kernel": kernel, "ok": true}),
        Err(error) => {
            let (file, line) = match &error.place {
                Some(Place::Text { file, span }) => (Some(file.name().to_owned()), Some(file.position(span.start).line)),
                Some(Place::File { file } | Place::Node { file, node: _ }) => (Some(file.clone()), None),
                None => (None, None),
            };
            json!({
                "kernel": kernel, "ok": false, "code": error.code.id, "message": error.message, "line": line, "file": file,
            })
        }
    }
}

/// Whether the emulator can run a kernel: true, or the code and the message that say why not.
fn program(kernel: &Verified<Kernel>) -> Value {
    match catch_unwind(AssertUnwindSafe(|| Program::compile(kernel))) {
        Ok(Ok(_)) => Value::Bool(true),
        Ok(Err(error)) => json!({"code": error.code.id, "message": error.message}),
        Err(_) => json!({"code": codes::INTERNAL.id, "message": "preparing the kernel for the emulator panics"}),
    }
}

/// What a kernel does on drawn inputs: the code and message of a fault, the findings.
fn drawn(kernel: &Verified<Kernel>, draw: &Draw) -> Value {
    let told = |d: &Diagnostic| {
        let mut told = answer::<()>("", &Err(Box::new(d.clone())));
        if let Value::Object(fields) = &mut told {
            fields.remove("kernel");
            fields.remove("ok");
        }
        told
    };
    match catch_unwind(AssertUnwindSafe(|| drawn::run(kernel, drawn::launch(kernel, draw), draw))) {
        Ok(Ok(outcome)) => json!({
            "ended": outcome.memory.is_some(),
            "fault": outcome.fault.as_deref().map(told),
            "findings": outcome.findings.iter().map(told).collect::<Vec<_>>(),
        }),
        Ok(Err(error)) => json!({"ended": false, "fault": told(&error), "findings": []}),
        Err(_) => json!({"ended": false, "fault": {"code": codes::INTERNAL.id, "message": "running it panics"}, "findings": []}),
    }
}

/// Whether Triton's own IR of a kernel does the same.
fn beside(kernel: &Verified<Kernel>, ttir: &Path, draw: &Draw) -> Value {
    let theirs = match compiled::read(ttir) {
        Ok(theirs) => theirs,
        Err(error) => return json!({"verdict": "not read", "code": error.code.id, "message": error.message}),
    };
    match catch_unwind(AssertUnwindSafe(|| doors::compare(kernel, &theirs, draw))) {
        Ok(Verdict::Same(fault)) => json!({"verdict": "same", "fault": fault}),
        Ok(Verdict::Endless(limit)) => json!({"verdict": "endless", "limit": limit}),
        Ok(Verdict::Differ(how)) => json!({"verdict": "differ", "how": how}),
        Err(_) => json!({"verdict": "differ", "how": codes::INTERNAL.id}),
    }
}

/// Answers one line of a batch; an `id` of the request stands in the answer.
pub fn answer_line(lowerer: &mut Lowerer, line: &str) -> Value {
    let mut answered = match request(line) {
        Ok(request) => {
            let (kernel, outcome) = lowerer.lower(&request);
            let mut answered = answer(&kernel, &outcome);
            if let (true, Ok(lowered)) = (request.program, &outcome) {
                answered["program"] = program(lowered);
            }
            if let (Some(draw), None, Ok(lowered)) = (&request.run, &request.ttir, &outcome) {
                answered["run"] = drawn(lowered, draw);
            }
            if let (Some(ttir), Ok(lowered)) = (&request.ttir, &outcome) {
                answered["doors"] = beside(lowered, ttir, request.run.as_ref().unwrap_or(&Draw::default()));
            }
            answered
        }
        Err(error) => answer::<()>("", &Err(error)),
    };
    let id = serde_json::from_str::<Value>(line).ok().and_then(|value| value.get("id").cloned());
    if let Some(id) = id {
        answered["id"] = id;
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let line =
            r#"{"file": "k.py", "entry": "add", "args": {"x": "*bf16", "n": "i32", "B": 64, "act": "'relu'", "bias": null}}"#;
        let request = request(line).unwrap();
        assert_eq!((request.file, request.entry), (PathBuf::from("k.py"), Some("add".to_owned())));
        let written: Vec<String> = request.args.iter().map(|(name, spec)| format!("{name}={}", signature::text(spec))).collect();
        assert_eq!(written, ["x=*bf16", "n=i32", "B=64", "act='relu'", "bias=None"]);
    }

    #[test]
    fn wrong_requests_are_answered() {
        let mut lowerer = Lowerer::default();
        for (line, said) in [
            ("[", "no JSON"),
            ("[1]", "no JSON object"),
            ("{}", "no `file`"),
            (r#"{"file": "k.py", "kernel": 1}"#, "not `kernel`"),
            (r#"{"file": "k.py", "args": {"x": {}}}"#, "`x` is no constexpr"),
            (r#"{"file": "k.py", "args": {"x": "*f"}}"#, "S001"),
            (r#"{"file": "k.py", "run": {"grid": [1, 2]}}"#, "`grid` of `run`"),
            (r#"{"file": "k.py", "run": {"lengths": {"x": 99999999999}}}"#, "`lengths` of `run`"),
            (r#"{"file": "k.py", "run": {"triton": "3"}}"#, "`triton` of `run`"),
            (r#"{"file": "k.py", "run": {"size": 3}}"#, "not `size`"),
            (r#"{"file": "there/is/none.py", "id": 7}"#, "U002"),
        ] {
            let answer = answer_line(&mut lowerer, line);
            assert_eq!(answer["ok"], false);
            assert!(answer.to_string().contains(said), "{line}: {answer}");
        }
        assert_eq!(answer_line(&mut lowerer, r#"{"file": "none.py", "id": 7}"#)["id"], 7);
    }

    #[test]
    fn kernels_of_files_are_lowered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.py");
        let text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, n):\n    tl.store(x, tl.load(x) + n)\n\n\
                    @triton.jit\ndef bad(x):\n    tl.store(x, nothing)\n";
        std::fs::write(&path, text).unwrap();
        let mut lowerer = Lowerer::default();
        let ask = |lowerer: &mut Lowerer, entry: &str, args: &str| {
            let line = format!(r#"{{"file": {:?}, "entry": "{entry}", "args": {{{args}}}}}"#, path.display().to_string());
            answer_line(lowerer, &line)
        };
        assert_eq!(ask(&mut lowerer, "k", r#""x": "*f32", "n": "f32""#), json!({"kernel": "k", "ok": true}));
        assert_eq!(ask(&mut lowerer, "k", r#""x": "*f32""#)["code"], "K007");
        let line = format!(
            r#"{{"file": {:?}, "entry": "k", "args": {{"x": "*f32", "n": "f32"}}, "program": true}}"#,
            path.display().to_string()
        );
        assert_eq!(answer_line(&mut lowerer, &line), json!({"kernel": "k", "ok": true, "program": true}));
        let line = format!(
            r#"{{"file": {:?}, "entry": "k", "args": {{"x": "*f32", "n": "f32"}}, "run": {{"grid": [1, 1, 1], "lengths": {{"x": 1}}}}}}"#,
            path.display().to_string()
        );
        let ran = json!({"ended": true, "fault": null, "findings": []});
        assert_eq!(answer_line(&mut lowerer, &line), json!({"kernel": "k", "ok": true, "run": ran}));
        assert_eq!(answer_line(&mut lowerer, &line.replace("[1, 1, 1]", "[2, 1, 1]"))["run"]["fault"]["code"], "A008");
        let ttir = folder.path().join("k.ttir");
        let own =
            answer_line(&mut lowerer, &line.replace(r#""run""#, &format!(r#""ttir": {:?}, "run""#, ttir.display().to_string())));
        assert_eq!(own["doors"]["verdict"], "not read");
        let text = "tt.func public @k(%x: !tt.ptr<f32>, %n: f32) {\n  %v = tt.load %x : !tt.ptr<f32>\n  %w = arith.addf %v, %n : f32\n  \
                    tt.store %x, %w : !tt.ptr<f32>\n  tt.return\n}\n";
        std::fs::write(&ttir, text).unwrap();
        let own =
            answer_line(&mut lowerer, &line.replace(r#""run""#, &format!(r#""ttir": {:?}, "run""#, ttir.display().to_string())));
        assert_eq!(own["doors"], json!({"verdict": "same", "fault": null}));
        let bad = ask(&mut lowerer, "bad", r#""x": "*f32""#);
        assert_eq!((&bad["line"], &bad["ok"]), (&json!(10), &json!(false)), "{bad}");
        assert_eq!(ask(&mut lowerer, "none", "")["code"], "K004");
    }
}
