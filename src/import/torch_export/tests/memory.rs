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
    Program { buffers: &[], nodes: &nodes, outputs: &["y", "v"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        v: f32[4,2] = reshape(x) shape=[4,2]
          from aten.view.default "v"
        added: f32[2,4] = map add(x, x)
          read 0[d0, d1]
          read 1[d0, d1]
          body add(r0, r1)
          from aten.add_.Tensor "added"
        rest.reshape: f32[4,2] = reshape(added) shape=[4,2]
          from aten.remainder.Scalar "rest"
        y: f32[4,2] = map relu(rest.reshape)
          read 0[d0, d1]
          body select(lt(r0, 0.0), 0.0, r0)
          from aten.relu.default "y"
        v.2: f32[4,2] = reshape(rest.reshape) shape=[4,2]
          from output "v.2"
        x.updated: f32[2,4] = reshape(added) shape=[2,4]
          from output "x.updated"
        output y
        output v.2
        output x.updated
        output rest.reshape
        writes x: %x.updated
        unsupported[M008]: m.pt2: aten.remainder.Scalar: the remainder of floats
         |
         = note: 1 node: rest
    "#]]);
}

fn add_(name: &str) -> Json {
    node("add_.Tensor", &[("self", tensor(name)), ("other", tensor("x"))], "added")
}

fn relu(name: &str) -> Json {
    node("relu.default", &[("self", tensor(name))], "y")
}

#[test]
fn a_write_through_one_tied_tensor_is_seen_by_the_other() {
    let buffers = [("a", meta(&[2, 4])), ("b", meta(&[2, 4]))];
    Program { buffers: &buffers, nodes: &[add_("a"), relu("b")], outputs: &["y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        weight a.2: f32[2,4] bias = data [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        added: f32[2,4] = map add(a.2, x)
          read 0[d0, d1]
          read 1[d0, d1]
          body add(r0, r1)
          from aten.add_.Tensor "added"
        y: f32[2,4] = map relu(added)
          read 0[d0, d1]
          body select(lt(r0, 0.0), 0.0, r0)
          from aten.relu.default "y"
        a.updated: f32[2,4] = reshape(added) shape=[2,4]
          from output "a.updated"
        b.updated: f32[2,4] = reshape(added) shape=[2,4]
          from output "b.updated"
        output y
        output a.updated
        output b.updated
        writes a: %a.updated
        writes b: %b.updated
    "#]]);
}

/// The other is a transpose of it; nobody reads either behind the write.
#[test]
fn a_write_to_memory_that_is_shared_in_another_way_is_refused() {
    let buffers = [("a", meta(&[2, 4])), ("turned", placed(&[4, 2], &[1, 4], 0))];
    Program { buffers: &buffers, nodes: &[add_("a"), relu("turned")], outputs: &["y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        weight a.2: f32[2,4] bias = data [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        unsupported[M008]: m.pt2: aten.add_.Tensor: a write to memory that `turned` shares in another way
         |
         = note: 1 node: added
        unsupported[M008]: m.pt2: nodes behind what `added` writes cannot be decomposed
         |
         = note: 1 node: y
    "#]]);
    let reads = [node("add.Tensor", &[("self", tensor("a")), ("other", tensor("x"))], "added"), relu("turned")];
    Program { buffers: &buffers, nodes: &reads, outputs: &["added", "y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        weight a.2: f32[2,4] bias = data [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        weight y: f32[4,2] = data [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        added: f32[2,4] = map add(a.2, x)
          read 0[d0, d1]
          read 1[d0, d1]
          body add(r0, r1)
          from aten.add.Tensor "added"
        output added
        output y
    "#]]);
}

#[test]
fn parts_of_one_storage_that_do_not_meet_are_written_apart() {
    let buffers = [("a", meta(&[4])), ("b", placed(&[4], &[1], 4))];
    let add = node("add_.Tensor", &[("self", tensor("a")), ("other", tensor("b"))], "added");
    Program { buffers: &buffers, nodes: &[add, relu("a")], outputs: &["y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        weight a.2: f32[4] bias = data [0.0, 0.0, 0.0, 0.0]
        weight b.2: f32[4] bias = data [0.0, 0.0, 0.0, 0.0]
        added: f32[4] = map add(a.2, b.2)
          read 0[d0]
          read 1[d0]
          body add(r0, r1)
          from aten.add_.Tensor "added"
        y: f32[4] = map relu(added)
          read 0[d0]
          body select(lt(r0, 0.0), 0.0, r0)
          from aten.relu.default "y"
        a.updated: f32[4] = reshape(added) shape=[4]
          from output "a.updated"
        output y
        output a.updated
        writes a: %a.updated
    "#]]);
}

/// The elements of `x` and of its views are not known once the node is cut out.
#[test]
fn what_a_node_writes_that_is_cut_out_is_lost() {
    let view = node("view.default", &[("self", tensor("x")), ("size", ints(&[4, 2]))], "v");
    let inputs = [("self", tensor("x")), ("other", json!({"as_float": 2.0}))];
    let nodes = [view.clone(), node("remainder_.Scalar", &inputs, "rest"), relu("v")];
    Program { buffers: &[], nodes: &nodes, outputs: &["y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        v: f32[4,2] = reshape(x) shape=[4,2]
          from aten.view.default "v"
        unsupported[M008]: m.pt2: aten.remainder_.Scalar: the remainder of floats
         |
         = note: 1 node: rest
        unsupported[M008]: m.pt2: nodes behind what `rest` writes cannot be decomposed
         |
         = note: 1 node: y
    "#]]);
    // Not in the table of signatures: its name says that it writes.
    let nodes = [view, node("cauchy_.default", &[("self", tensor("x"))], "drawn"), relu("v")];
    Program { buffers: &[], nodes: &nodes, outputs: &["y"] }.gives(expect![[r#"
        graph "m.pt2"
        input x: f32[2,4]
        v: f32[4,2] = reshape(x) shape=[4,2]
          from aten.view.default "v"
        unsupported[M008]: m.pt2: operator aten.cauchy_.default is not supported
         |
         = note: 1 node: drawn
        unsupported[M008]: m.pt2: nodes behind what `drawn` writes cannot be decomposed
         |
         = note: 1 node: y
    "#]]);
}
