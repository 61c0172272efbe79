//! A tape of bytes, read as choices. Generators take what they need from it; when it is at its end every choice is the
//! first, which generators make the simplest, so that all of them end and a shorter tape is a simpler case.

pub struct Choices<'t> {
    tape: &'t [u8],
}

impl<'t> Choices<'t> {
    pub fn new(tape: &'t [u8]) -> Choices<'t> {
        Choices { tape }
    }

    fn byte(&mut self) -> usize {
        match self.tape.split_first() {
            None => 0,
            Some((first, rest)) => {
                self.tape = rest;
                usize::from(*first)
            }
        }
    }

    /// A number below `n`, which is not zero.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = n > 256;
        let mut value = self.byte();
        if wide {
            value = value << 8 | self.byte();
        }
        value % n
    }

    pub fn of<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())].clone()
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        !self.tape.is_empty() && self.below(n) == n - 1
    }

    pub fn at_end(&self) -> bool {
        self.tape.is_empty()
    }

    /// What is left.
    pub fn rest(&mut self) -> &'t [u8] {
        std::mem::take(&mut self.tape)
    }
}
