//! Texts that read back, and texts that do not.

use super::*;
use crate::diag::render::render;
use crate::graph::verify::violations;
use crate::source::SourceFile;

const TEXT: &str = r##"graph "a \"b\".onnx"
input x: f32[1,4,8,8]
input ids: i64[3] index(4)
input "odd name, with ()": bool[]
weight w: f32[6,2,3,3] weight(18) = missing
weight /b:0: f32[6] bias = filled -0.5
weight v: f32[1000] variance = stored
weight k: f32[3] exact = data [1.0, nan, -inf]
weight n: i64[2] exact = data [-1, 9223372036854775807]
weight kernel: f32[4,2,3,4] weight(18) = missing
weight shift: f32[1,6] bias = missing
_c: f32[1,6,4,4] = conv(x, w, /b:0) strides=[2,2] dilations=[1,1] pads_begin=[1,1] pads_end=[0,1] groups=2
  from Conv "layer1.0.conv1" in "layer1.0"
p: f32[1,6,2,2] = average_pool(_c) kernel=[2,2] strides=[2,2] dilations=[1,1] pads_begin=[0,0] pads_end=[0,0] count_pad=true
g: f32[1,6,1,1] = adaptive_average_pool(p) size=[1,1]
input: f32[6] = reshape(g) shape=[6]
picked: f32[3,6] = map gather(ids, input, _)
  read 0[d0]
  read 1[d1]
  read 1[d1*-1 + 5] fill 0.0
  body t0 = exp(add(r1, r2)); select(lt(r1, 0.0), 0.0, mul(t0, t0))
  from Gather "#3 Gather"
  from "odd op" "x"
s: f32[3,6] = softmax(picked) axis=1
l: f32[3,6] = log_softmax(picked) axis=0
u: f32[1,4,9,17] = conv_transpose(x, kernel, _) strides=[1,2] dilations=[1,1] pads_begin=[0,0] pads_end=[1,1] output_padding=[0,0] groups=2
n2: f32[3,6] = norm(l, _, shift) axes=[0,1] epsilon=1e-5
n3: f32[3,6] = rms_norm(l) axes=[1] epsilon=0.0
r: f32[3,1] = reduce_mean(l) axes=[1] keep=true
lse: f32[] = logsumexp(l) axes=[0,1] keep=false
a: i64[3] = argmin(l) axis=1 keep=false last=true
c: f32[3,6] = cumprod(l) axis=0 reverse=true exclusive=false
output s
output x
"##;

#[test]
fn text_reads_back() {
    let graph = parse(&SourceFile::new("t", TEXT)).unwrap();
    assert_eq!(graph.to_string(), TEXT.replace("stored", "missing"));
    assert!(violations(&graph).is_empty(), "{:?}", violations(&graph));
}

#[test]
fn mistakes_are_shown_at_their_place() {
    let cases = [
        ("graf", "`graph` is expected"),
        ("graph \"g\"\ninput x f32[1]", "`:` is expected"),
        ("graph \"g\"\ninput x: f33[1]", "an element type is expected"),
        ("graph \"g\"\ninput x: f32[1]\ninput x: f32[1]", "two values have this name"),
        ("graph \"g\"\ninput x: f32[1]\ny: f32[1] = relu(x)", "`relu` is no operator"),
        ("graph \"g\"\ninput x: f32[1]\ny: f32[1] = map relu(x)\n", "a map needs a `body`"),
        ("graph \"g\"\ninput x: f32[1]\ny: f32[1] = map relu(z)\n", "the value `z` is not defined above"),
        ("graph \"g\"\ninput x: f32[1]\ny: f32[1] = map m(x)\n  read 1[d0]\n", "there is no operand 1"),
        ("graph \"g\"\nweight x: f32[2] = data [1.0]", "1 elements do not fill the shape"),
        ("graph \"g\"\ninput x: f32[9999999999999999999999]", "a size is expected"),
        ("graph \"g\"\noutput x", "the value `x` is not defined above"),
    ];
    for (text, message) in cases {
        let error = parse(&SourceFile::new("t", text)).unwrap_err();
        assert_eq!((error.code.id, error.message.as_str()), ("M013", message), "{text}");
    }
    let text = "graph \"g\"\ninput x: f32[1]\ny: f32[1] = map m(x)\n  read 0[d0]\n  body add(r0, 1)\n";
    expect_test::expect![[r#"
        error[M013]: add of f32 and i64
         --> g.txt:5:8
          |
        5 |   body add(r0, 1)
          |        ^ graph text syntax error"#]]
    .assert_eq(&render(&parse(&SourceFile::new("g.txt", text)).unwrap_err(), false));
}
