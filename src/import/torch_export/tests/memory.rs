//! Views and writes: programs in which several names share memory.

use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

use super::{CONTAINER, archive, from_bytes, render};
use crate::graph::verify::verify;
use crate::import::{Binding, Imported};

/// A contiguous tensor of floats.
fn meta(sizes: &[i64]) -> Json {
    let strides: Vec<i64> = (0..sizes.len()).map(|axis| sizes[axis + 1..].iter().product()).collect();
    placed(sizes, &strides, 0)
}

/// A tensor of floats as it lies in a storage.
fn placed(sizes: &[i64], strides: &[i64], offset: i64) -> Json {
    let ints = |all: &[i64]| all.iter().map(|i| json!({"as_int": i})).collect::<Vec<_>>();
    json!({
        "dtype": 7, "sizes": ints(sizes), "strides": ints(strides), "storage_offset": {"as_int": offset}, "layout": 7
    })
}

fn tensor(name: &str) -> Json {
    json!({"as_tensor": {"name": name}})
}

fn ints(all: &[i64]) -> Json {
    json!({"as_ints": all})
}

/// A node that gives one tensor.
fn node(target: &str, inputs: &[(&str, Json)], output: &str) -> Json {
    let inputs: Vec<Json> = inputs.iter().map(|(name, arg)| json!({"name": name, "arg": arg})).collect();
    json!({"target": format!("torch.ops.aten.{target}"), "inputs": inputs, "outputs": [tensor(output)], "name": output})
}

/// A program with the input `x`, 2×4, and buffers in one storage of eight floats.
struct Program<'p> {
    buffers: &'p [(&'p str, Json)],
    nodes: &'p [Json],
    outputs: &'p [&'p str],
}

impl Program<'_> {
    fn import(&self) -> Imported {
        let names = || self.buffers.iter().map(|(name, _)| *name);
        let buffer = |name: &str| json!({"buffer": {"arg": {"name": name}, "buffer_name": name}});
        let metas = self.buffers.iter().map(|(name, meta)| ((*name).to_owned(), meta.clone()));
        let metas: serde_json::Map<String, Json> = metas.chain([("x".to_owned(), meta(&[2, 4]))]).collect();
        let model = json!({
            "schema_version": {"major": 8, "minor": 20},
            "range_constraints": {},
            "graph_module": {
                "graph": {
                    "inputs": names().chain(["x"]).map(tensor).collect::<Vec<_>>(),
                    "outputs": self.outputs.iter().map(|name| tensor(name)).collect::<Vec<_>>(),
                    "nodes": self.nodes,
                    "tensor_values": metas,
                },
                "signature": {
                    "input_specs": names().map(buffer).chain([json!({"user_input": {"arg": tensor("x")}})]).collect::<Vec<_>>(),
                    "output_specs": self.outputs.iter().map(|name| json!({"user_output": {"arg": tensor(name)}})).collect::<Vec<_>>(),
                },
            },
        });
        let entry = |meta: &Json| json!({"path_name": "weight_0", "use_pickle": false, "tensor_meta": meta});
        let entries: serde_json::Map<String, Json> =
            self.buffers.iter().map(|(name, meta)| ((*name).to_owned(), entry(meta))).collect();
        let (model, config) = (model.to_string(), json!({"config": entries}).to_string());
        let own = [
            ("m/models/model.json", model.as_str()),
            ("m/data/weights/model_weights_config.json", config.as_str()),
            ("m/data/weights/weight_0", &"\0".repeat(32)),
        ];
        let bytes = archive(&[CONTAINER.as_slice(), &own].concat());
        let all = |errors: Vec<crate::diag::Diagnostic>| errors.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n");
        from_bytes("m.pt2", &bytes, &Binding::default()).unwrap_or_else(|errors| panic!("{}", all(errors)))
    }

    /// The graph, which must verify, what it writes, and what is not supported.
    fn gives(&self, expected: Expect) {
        let imported = self.import();
        let mut text = verify(imported.graph.clone()).map(|graph| graph.to_string()).unwrap_or_else(|errors| {
            panic!("{}", errors.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n"));
        });
        for (value, target) in &imported.mutates {
            text.push_str(&format!("writes {target}: %{}\n", imported.graph.value(*value).name));
        }
        imported.unsupported.iter().for_each(|d| text.push_str(&format!("{}\n", render(d, false))));
        expected.assert_eq(&text);
    }
}

/// The view is read anew for the remainder; the graph keeps it although the remainder is taken back.
#[test]
fn a_view_that_is_read_anew_outlives_the_node_that_reads_it() {
    let nodes = [
        node("view.default", &[("self", tensor("x")), ("size", ints(&[4, 2]))], "v"),
        node("add_.Tensor", &[("self", tensor("x")), ("other", tensor("x"))], "added"),
        node("remainder.Scalar", &[("self", tensor("v")), ("other", json!({"as_float": 2.0}))], "rest"),
        node("relu.default", &[("self", tensor("v"))], "y"),
    ];
    Program { buffers: &[], nodes: &nodes, outputs: &["y", "v"] }.gives(expect![[""]]);
}
