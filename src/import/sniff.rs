//! Says what a file is that is no model we read, from its first bytes and its name.
//!
//! Only what people really pass by mistake is recognised; anything else is left to the decoder.

use crate::diag::{Diagnostic, codes};

/// (first bytes, what such a file is)
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "gzip-compressed: unpack it first"),
    (b"\xfd7zXZ", "xz-compressed: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed: unpack it first"),
    (b"\x7fELF", "an ELF binary"),
    (b"\x89HDF\r\n", "an HDF5 file (Keras)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"GGUF", "a GGUF file (llama.cpp)"),
];

const EXPORT: &str = "export the model where its Python code is: \
    torch.export.save(torch.export.export(model, (example_input,)), \"model.pt2\")";

const NAME_A_MODEL: &str = "name an .onnx or .pt2 file, or a model of shapes_registry.yaml such as resnet50.onnx";

/// The refusal of a file that is clearly no ONNX model, or `None` when it may be one.
pub(super) fn refuse(name: &str, bytes: &[u8]) -> Option<Diagnostic> {
    let refusal = recognise(name, bytes)?;
    Some(if refusal.help.is_none() { refusal.help(NAME_A_MODEL) } else { refusal })
}

/// What to do with Python source, by what it holds.
fn python(name: &str, bytes: &[u8]) -> String {
    let holds = |word: &str| contains(bytes, word.as_bytes());
    if holds("def get_inputs") && holds("class Model") {
        format!("it is a task: decompose task {name}")
    } else if holds("class ModelNew") {
        format!("it answers a task: decompose verify {name} --task TASK.py")
    } else if holds("triton.jit") {
        format!("it has kernels: decompose emulate {name}")
    } else if holds("nn.Module") {
        format!("export a module with its shapes: python tools/export_task.py {name}:CLASS --shape 1x3x224x224")
    } else {
        EXPORT.to_owned()
    }
}

fn recognise(name: &str, bytes: &[u8]) -> Option<Diagnostic> {
    let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
    let not_a_model = |message: &str| Diagnostic::new(&codes::FILE_NOT_A_MODEL, message).in_file(name);
    let pickle = (bytes.starts_with(b"PK") && contains(bytes, b"data.pkl")) || bytes.starts_with(b"\x80\x02");
    if pickle || matches!(extension.as_str(), "pt" | "pth") {
        return Some(not_a_model("is a PyTorch pickle; unpickling runs code from the file, so it is not read").help(EXPORT));
    }
    if extension == "py" {
        return Some(not_a_model("is Python source, not a model file").help(python(name, bytes)));
    }
    if bytes.is_empty() {
        return Some(not_a_model("is empty (0 bytes)"));
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Some(
            not_a_model("is a Git LFS pointer, not the model itself").help("fetch the file it stands for: git lfs pull"),
        );
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some(not_a_model("is a TensorFlow Lite model, not ONNX"));
    }
    if bytes.starts_with(b"PK") {
        return Some(
            not_a_model("is a zip archive, not an ONNX model").help("an archive of torch.export has the extension .pt2"),
        );
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(not_a_model(&format!("is {what}, not an ONNX model")));
    }
    if is_text(bytes) {
        return Some(
            not_a_model(&format!("is a text file, not an ONNX model; it begins with {:?}", first_line(bytes)))
                .help("pass the binary .onnx file"),
        );
    }
    None
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|w| w == needle)
}

/// Whether the beginning is UTF-8 without control characters. An ONNX file begins with its IR
/// version, the bytes 8 and a small number.
fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(), // cut in the middle of a character
    };
    valid && head.iter().all(|&b| b >= 0x20 || matches!(b, b'\t' | b'\n' | b'\r' | 0x0c))
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]);
    text.lines().next().unwrap_or("").chars().take(40).collect()
}
