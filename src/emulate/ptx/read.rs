//! Text to statements.
//!
//! Scopes `{ … }`, register declarations (`.reg .b32 a<2>, b;`), guards (`@p`, `@!p`), vectors (`{a, b}`), literals
//! (decimal, hex, `0f…`, `0d…`) and comments. Names are declared once for the whole text.

use std::collections::HashMap;

use super::number::Ty;
use super::opcode::{Kind, Opcode, opcode};
use super::{Operand, Ptx, Register, Special, Statement};

/// The error names what is not in the table, in words.
type Read<T> = Result<T, String>;

/// Reads a text with its constraint string.
pub fn read(text: &str, constraints: &str) -> Read<Ptx> {
    let (mut outputs, mut inputs, mut tied) = (0, 0, Vec::new());
    for constraint in constraints.split(',').map(str::trim).filter(|c| !c.is_empty()) {
        if constraint.starts_with('~') {
            continue;
        }
        let (output, letter) = match constraint.strip_prefix('=') {
            Some(rest) => (true, rest.trim_start_matches('&')),
            None => (false, constraint),
        };
        match (output, letter) {
            (true, "r" | "h" | "l" | "f" | "d" | "b") => outputs += 1,
            (false, "r" | "h" | "l" | "f" | "d" | "b" | "n") => inputs += 1,
            (false, number) if number.parse::<usize>().is_ok_and(|n| n < outputs) => {
                tied.push((outputs + inputs, number.parse().unwrap_or(0)));
                inputs += 1;
            }
            _ => return Err(format!("the constraint `{constraint}`")),
        }
    }
    let mut reader = Reader { names: HashMap::new(), registers: outputs + inputs, placeholders: outputs + inputs };
    let mut statements = Vec::new();
    for piece in pieces(&without_comments(text))? {
        if let Some(statement) = reader.statement(&piece)? {
            statements.push(statement);
        }
    }
    Ok(Ptx { statements, registers: reader.registers, outputs, inputs, tied })
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    loop {
        match (rest.find("//"), rest.find("/*")) {
            (Some(line), block) if block.is_none_or(|block| line < block) => {
                out.push_str(&rest[..line]);
                rest = rest[line..].find('\n').map_or("", |end| &rest[line + end..]);
            }
            (_, Some(block)) => {
                out.push_str(&rest[..block]);
                rest = rest[block..].find("*/").map_or("", |end| &rest[block + end + 2..]);
            }
            (_, None) => {
                out.push_str(rest);
                return out;
            }
        }
    }
}

/// Statements without their semicolons; the braces of scopes are dropped.
fn pieces(text: &str) -> Read<Vec<String>> {
    let (mut out, mut piece, mut depth) = (Vec::new(), String::new(), 0usize);
    for c in text.chars() {
        match c {
            '{' | '}' if piece.trim().is_empty() => {
                depth = if c == '{' { depth + 1 } else { depth.checked_sub(1).ok_or("a `}` without `{`")? };
            }
            ';' => out.push(std::mem::take(&mut piece).trim().to_owned()),
            '\n' | '\t' | '\r' => piece.push(' '),
            c => piece.push(c),
        }
    }
    match piece.trim() {
        "" if depth == 0 => Ok(out),
        "" => Err("a `{` without `}`".to_owned()),
        rest => Err(format!("`{rest}` without a semicolon")),
    }
}

struct Reader {
    names: HashMap<String, Register>,
    registers: usize,
    placeholders: usize,
}

impl Reader {
    fn declare(&mut self, name: &str) {
        self.names.insert(name.to_owned(), self.registers);
        self.registers += 1;
    }

    fn statement(&mut self, piece: &str) -> Read<Option<Statement>> {
        if piece.is_empty() {
            return Ok(None);
        }
        if let Some(declared) = piece.strip_prefix(".reg") {
            let declared = declared.trim_start();
            let (ty, names) = declared.split_once(' ').ok_or_else(|| format!("`{piece}`"))?;
            Ty::named(ty.trim_start_matches('.')).ok_or_else(|| format!("the register type `{ty}`"))?;
            for name in names.split(',').map(str::trim) {
                match name.strip_suffix('>').and_then(|n| n.split_once('<')) {
                    None => self.declare(name),
                    Some((stem, count)) => {
                        let count: usize = count.parse().ok().filter(|&n| n <= 256).ok_or_else(|| format!("`{name}`"))?;
                        (0..count).for_each(|i| self.declare(&format!("{stem}{i}")));
                    }
                }
            }
            return Ok(None);
        }
        let (guard, rest) = match piece.strip_prefix('@') {
            None => (None, piece),
            Some(guarded) => {
                let (name, rest) = guarded.split_once(' ').ok_or_else(|| format!("`{piece}`"))?;
                let when = !name.starts_with('!');
                (Some((self.register(name.trim_start_matches('!'))?, when)), rest.trim_start())
            }
        };
        let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        // Launches follow each other here: no earlier grid is waited for, no later one let in.
        if matches!(name, "griddepcontrol.wait" | "griddepcontrol.launch_dependents") && operands.is_empty() {
            return Ok(None);
        }
        let words: Vec<&str> = name.split('.').collect();
        let opcode = opcode(&words).ok_or_else(|| format!("the PTX instruction `{name}`"))?;
        let mut list = split_operands(operands)?;
        if list.is_empty() {
            return Err(format!("`{rest}` without operands"));
        }
        let to: Vec<Register> = parts(&list.remove(0), '|').iter().map(|name| self.register(name)).collect::<Read<_>>()?;
        let mut from = Vec::new();
        for operand in &list {
            for part in parts(operand, '|') {
                from.push(self.operand(&part, &opcode)?);
            }
        }
        let statement = Statement { guard, opcode, to, from };
        if fits(&statement) { Ok(Some(statement)) } else { Err(format!("`{rest}` with these operands")) }
    }

    fn register(&self, name: &str) -> Read<Register> {
        let placeholder = name.strip_prefix('$').and_then(|n| n.trim_matches(['{', '}']).parse::<usize>().ok());
        if let Some(index) = placeholder {
            return if index < self.placeholders { Ok(index) } else { Err(format!("`{name}`, which no constraint names")) };
        }
        self.names.get(name).copied().ok_or_else(|| format!("the register `{name}`, which is not declared"))
    }

    fn operand(&self, text: &str, opcode: &Opcode) -> Read<Operand> {
        match text {
            "%globaltimer" | "%globaltimer_lo" | "%clock" | "%clock64" | "%clock_hi" => {
                return Ok(Operand::Special(Special::Time));
            }
            "%smid" | "%laneid" | "%warpid" | "%gridid" | "%globaltimer_hi" => return Ok(Operand::Special(Special::Zero)),
            _ => {}
        }
        let first = text.trim_start_matches('-').chars().next();
        if first.is_some_and(|c| c.is_ascii_digit()) {
            return literal(text, opcode.ty).map(Operand::Bits).ok_or_else(|| format!("the literal `{text}`"));
        }
        self.register(text).map(Operand::Register)
    }
}

/// The bits of a literal.
fn literal(text: &str, ty: Ty) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if let Some(hex) = digits.strip_prefix("0f").or_else(|| digits.strip_prefix("0F")) {
        return u32::from_str_radix(hex, 16).ok().map(u64::from);
    }
    if let Some(hex) = digits.strip_prefix("0d").or_else(|| digits.strip_prefix("0D")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let whole = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex.trim_end_matches('U'), 16).ok(),
        None => digits.trim_end_matches('U').parse().ok(),
    };
    match whole {
        Some(value) if !matches!(ty, Ty::F32 | Ty::F64) => Some(if negative { value.wrapping_neg() } else { value }),
        _ => {
            let value: f64 = text.parse().ok()?;
            match ty {
                Ty::F32 => Some((value as f32).to_bits().into()),
                Ty::F64 => Some(value.to_bits()),
                _ => None,
            }
        }
    }
}

/// `a, {b, c}, d`.
fn split_operands(text: &str) -> Read<Vec<String>> {
    let (mut out, mut operand, mut inside) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '{' => {
                // `${0}` names a placeholder.
                if operand.trim_end().ends_with('$') {
                    operand.push(c);
                } else if inside {
                    return Err("a vector inside a vector".to_owned());
                } else {
                    inside = true;
                }
            }
            '}' if operand.contains("${") && !operand.ends_with('}') => operand.push(c),
            '}' => inside = false,
            ',' if inside => operand.push('|'),
            ',' => out.push(std::mem::take(&mut operand)),
            ' ' => {}
            c => operand.push(c),
        }
    }
    out.push(operand);
    Ok(out.into_iter().filter(|operand| !operand.is_empty()).collect())
}

fn parts(operand: &str, separator: char) -> Vec<String> {
    operand.split(separator).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Whether the counts of operands are those of the instruction.
fn fits(statement: &Statement) -> bool {
    let (to, from) = (statement.to.len(), statement.from.len());
    let ty = statement.opcode.ty;
    let small = matches!(ty, Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M1x2);
    match &statement.opcode.kind {
        Kind::Move => (to == 1 || from == 1) && to > 0 && from > 0 && to.max(from) <= 4,
        Kind::Binary(_) => (to, from) == (1, 2),
        Kind::Unary(_) => (to, from) == (1, 1),
        Kind::MulAdd(_) | Kind::Fma | Kind::Select | Kind::Permute | Kind::Extract | Kind::Funnel(_) => (to, from) == (1, 3),
        Kind::Set(_) => (to == 1 || to == 2) && from == 2,
        Kind::Lop3 | Kind::Insert => (to, from) == (1, 4),
        Kind::Convert(Ty::F32) if small || ty.is_pair() => (to, from) == (1, 2),
        Kind::Convert(_) => (to, from) == (1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_instructions_are_named() {
        let refused = |text: &str, constraints: &str| read(text, constraints).unwrap_err();
        assert_eq!(refused("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r"), "the PTX instruction `shfl.sync.idx.b32`");
        assert_eq!(refused("add.f32 $0, $1, t;", "=f,f"), "the register `t`, which is not declared");
        assert_eq!(refused("add.f32 $0, $1, $2;", "=f,f"), "`$2`, which no constraint names");
        assert_eq!(refused("add.f32 $0, $1;", "=f,f"), "`add.f32 $0, $1` with these operands");
        assert_eq!(refused("mov.b32 $0, $1;", "=x,r"), "the constraint `=x`");
        assert_eq!(refused("mov.b32 $0, $1", "=r,r"), "`mov.b32 $0, $1` without a semicolon");
        assert_eq!(refused("ld.global.f32 $0, [$1];", "=f,l"), "the PTX instruction `ld.global.f32`");
    }

    #[test]
    fn earlier_grids_are_not_waited_for() {
        let ptx = read("griddepcontrol.wait; // dummy $0", "=r").unwrap();
        assert_eq!((ptx.statements.len(), ptx.outputs), (0, 1));
        assert!(read("griddepcontrol.wait $0;", "=r").is_err());
    }

    #[test]
    fn scopes_declarations_and_comments() {
        let text = "{ // two\n .reg .b32 a<2>, b; /* and */ .reg .pred p;\n mov.b32 a0, $1;\n mov.b32 {a1, b}, $2;\n\
                    setp.gt.s32 p, a0, 0;\n @!p mov.b32 a0, 0x10;\n add.u32 $0, a0, a1; }";
        let ptx = read(text, "=r,r,l").unwrap();
        assert_eq!((ptx.statements.len(), ptx.outputs, ptx.inputs, ptx.registers), (5, 1, 2, 7));
        assert_eq!(ptx.statements[3].guard, Some((6, false)));
        assert_eq!(ptx.statements[3].from, [Operand::Bits(16)]);
        assert_eq!(ptx.statements[1].to, [4, 5]);
    }
}
