//! Recordings made here: what agrees, what does not, and bytes that mean nothing.

use serde_json::{Value, json};

use super::*;
use crate::dtype::DType;
use crate::tensor::{Storage, Tensor, stored};

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit(do_not_specialize=['n'])
def scaled(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, SQUARED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    if SQUARED:
        x = x * x
    tl.store(out_ptr + at, tl.exp(x) * factor, mask=at < n)
";

const X: [f32; 6] = [0.5, -1.0, 0.25, 2.0, 0.0, 1.5];

/// A launch on 6 numbers of a storage that both arguments view, one behind the other.
fn launch() -> Value {
    let view = |offset: u32| json!({"storage": 0, "dtype": "float32", "shape": [6], "strides": [1], "offset": offset});
    json!({
        "version": 1, "kernel": "scaled", "function": "example.scaled", "package": "example", "grid": [2, 1, 1],
        "options": {"num_warps": 1},
        "arguments": {
            "x_ptr": {"kind": "tensor", "view": view(0)}, "out_ptr": {"kind": "tensor", "view": view(6)},
            "n": {"kind": "int", "value": 6}, "factor": {"kind": "float", "value": 2.0},
            "BLOCK": {"kind": "int", "value": 4}, "SQUARED": {"kind": "bool", "value": false},
        },
        "storages": [{"dtype": "float32", "elements": 12, "written": true}],
    })
}

fn write(folder: &Path, launch: &Value, after: &[f32]) {
    std::fs::write(folder.join("kernel.py"), KERNEL).unwrap();
    std::fs::write(folder.join("launch.json"), launch.to_string()).unwrap();
    let lanes = |tail: &[f32]| Tensor::new(DType::F32, [12].as_slice(), Storage::F32(X.iter().chain(tail).copied().collect()));
    let tensors = vec![("0.before".to_owned(), lanes(&[0.0; 6])), ("0.after".to_owned(), lanes(after))];
    std::fs::write(folder.join("tensors.safetensors"), stored::write(&tensors).unwrap()).unwrap();
}

fn replayed(folder: &Path) -> Vec<Replay> {
    replay(&Asked { folder: folder.to_owned(), fuel: None, memory: None, threads: 1 }, &Cancel::default()).unwrap()
}

fn one_of(launch: &Value, after: &[f32]) -> Replay {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), launch, after);
    replayed(folder.path()).remove(0)
}

/// What f32 gives when every operation is rounded correctly.
fn right() -> Vec<f32> {
    X.iter().map(|x| f64::from(*x).exp() as f32 * 2.0).collect()
}

#[test]
fn what_the_device_wrote_agrees_within_the_units_of_its_exponential() {
    for units in [0, 1, 2] {
        let after: Vec<f32> = right().iter().map(|v| f32::from_bits(v.to_bits() + units)).collect();
        let replay = one_of(&launch(), &after);
        assert!(replay.findings.is_empty(), "{:?}", replay.findings);
        assert!([Word::Equal, Word::Within].contains(&replay.word), "{units}: {:?}", replay.compared);
        assert_eq!((replay.compared[0].name.as_str(), replay.compared[0].elements), ("x_ptr", 12));
        if units == 2 {
            assert!(replay.worst().unwrap().error_over_bound > 0.1);
        }
    }
}

#[test]
fn a_wrong_element_is_named() {
    let mut after = right();
    after[3] *= 1.0001;
    let replay = one_of(&launch(), &after);
    assert_eq!(replay.word, Word::Differs);
    let [finding] = replay.findings.as_slice() else { panic!("{:?}", replay.findings) };
    assert_eq!(finding.code.id, "C003");
    assert!(finding.message.starts_with("`x_ptr`, element 9: "), "{}", finding.message);
}

#[test]
fn what_is_not_written_must_stay() {
    let mut wider = launch();
    wider["arguments"]["n"]["value"] = json!(5);
    let replay = one_of(&wider, &right());
    assert_eq!((replay.word, replay.compared[0].failures), (Word::Differs, 1));
}

#[test]
fn what_checks_find_is_told_and_values_are_compared_all_the_same() {
    let mut wider = launch();
    wider["arguments"]["out_ptr"]["view"]["shape"] = json!([5]);
    let replay = one_of(&wider, &right());
    assert_eq!(replay.findings.iter().map(|f| f.code.id).collect::<Vec<_>>(), ["A002"]);
    assert!([Word::Equal, Word::Within].contains(&replay.word));
}

#[test]
fn constexprs_and_aliases_are_those_of_the_launch() {
    let mut squared = launch();
    squared["arguments"]["SQUARED"]["value"] = json!(true);
    let after: Vec<f32> = X.iter().map(|x| (f64::from(*x * *x)).exp() as f32 * 2.0).collect();
    assert!([Word::Equal, Word::Within].contains(&one_of(&squared, &after).word));
    // Both arguments are one tensor: the launch is in place.
    let mut in_place = launch();
    in_place["arguments"]["x_ptr"]["view"]["offset"] = json!(6);
    assert!([Word::Equal, Word::Within].contains(&one_of(&in_place, &[2.0; 6]).word));
}

#[test]
fn folders_are_searched_and_one_bad_recording_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b/one", "a/two"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        write(&folder.path().join(name), &launch(), &right());
    }
    std::fs::write(folder.path().join("a/two/kernel.py"), "def scaled(:").unwrap();
    let replays = replayed(folder.path());
    assert_eq!(replays.iter().map(|r| r.word == Word::Refused).collect::<Vec<_>>(), [true, false]);
    assert_eq!(replays[0].findings[0].code.id, "S001");
    let empty = tempfile::tempdir().unwrap();
    let asked = Asked { folder: empty.path().to_owned(), fuel: None, memory: None, threads: 1 };
    assert_eq!(replay(&asked, &Cancel::default()).unwrap_err()[0].code.id, "U002");
}

/// Each change of launch.json is refused by its code.
#[test]
fn descriptions_that_make_no_sense_are_refused() {
    let cases: [(&str, Value, &str); 15] = [
        ("/version", json!(2), "E001"),
        ("/kernel", json!(3), "E001"),
        ("/kernel", json!("none"), "K004"),
        ("/grid", json!([1, 1]), "E001"),
        ("/grid", json!([0, 1, 1]), "E001"),
        ("/grid", json!([4_294_967_295u32, 4_294_967_295u32, 4_294_967_295u32]), "H003"),
        ("/storages/0/dtype", json!("complex64"), "M009"),
        ("/storages/0/dtype", json!("float16"), "E001"),
        ("/storages/0/elements", json!(11), "E001"),
        ("/arguments/x_ptr/view/storage", json!(1), "E001"),
        ("/arguments/x_ptr/view/offset", json!(7), "E001"),
        ("/arguments/x_ptr/view/strides", json!([i64::MAX]), "E001"),
        ("/arguments/x_ptr/view/shape", json!([u64::MAX]), "E001"),
        ("/arguments/x_ptr/kind", json!("sketch"), "E001"),
        ("/arguments/n/value", json!("six"), "E001"),
    ];
    for (at, value, code) in cases {
        let mut changed = launch();
        *changed.pointer_mut(at).unwrap() = value;
        let replay = one_of(&changed, &right());
        let codes: Vec<&str> = replay.findings.iter().map(|f| f.code.id).collect();
        assert_eq!((replay.word, codes), (Word::Refused, vec![code]), "{at}");
    }
}

#[test]
fn any_bytes_give_a_diagnosis() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &launch(), &right());
    for file in ["launch.json", "kernel.py", "tensors.safetensors"] {
        let path = folder.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        for cut in (0..whole.len()).step_by(whole.len() / 23 + 1) {
            let mut bytes = whole.clone();
            bytes[cut] ^= 0x15;
            for bytes in [bytes, whole[..cut].to_vec()] {
                std::fs::write(&path, &bytes).unwrap();
                let replay = replayed(folder.path()).remove(0);
                assert!(replay.findings.iter().all(|f| f.code.id != "X001"), "{file} {cut}: {:?}", replay.findings);
                assert!(replay.word != Word::Refused || !replay.findings.is_empty());
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
}
