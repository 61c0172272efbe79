//! Where a running program's values live: the three spaces of cells (see `tape`).

use std::hash::Hasher;
use std::sync::Arc;

use crate::emulate::tape::{Slot, Space, Tape};
use crate::emulate::value::Cell;

/// Rows a table keeps; later iterations share one more row and recompute it.
const TABLE_ROWS: usize = 1024;

#[derive(Default)]
struct Table {
    columns: usize,
    /// Row-major cells of the rows made so far.
    cells: Vec<Cell>,
    filled: Vec<bool>,
    /// The current row.
    row: usize,
}

/// The three spaces of cells.
#[derive(Default)]
pub struct Cells {
    local: Vec<Cell>,
    launch: Arc<Vec<Cell>>,
    tables: Vec<Table>,
}

impl Cells {
    /// All empty.
    pub fn new(tape: &Tape) -> Cells {
        let tables = tape.tables.iter().map(|t| Table { columns: t.columns, ..Table::default() }).collect();
        Cells { local: vec![Cell::Empty; tape.locals], launch: Arc::new(vec![Cell::Empty; tape.launch_cells]), tables }
    }

    #[inline]
    pub fn get(&self, slot: Slot) -> &Cell {
        match slot.space() {
            Space::Local(i) => &self.local[i],
            Space::Launch(i) => &self.launch[i],
            Space::Table(t, c) => {
                let table = &self.tables[t];
                &table.cells[table.row * table.columns + c]
            }
        }
    }

    /// Bytes of the running program's blocks, and of the launch's.
    pub fn bytes(&self) -> usize {
        let tables = self.tables.iter().flat_map(|t| &t.cells);
        self.local.iter().chain(self.launch.iter()).chain(tables).map(Cell::bytes).sum()
    }

    /// All values of the running program.
    pub fn hash_locals(&self, hasher: &mut impl Hasher) {
        self.local.iter().for_each(|cell| cell.hash_lanes(hasher));
    }

    pub fn place(&mut self, slot: Slot) -> &mut Cell {
        match slot.space() {
            Space::Local(i) => &mut self.local[i],
            Space::Launch(i) => {
                &mut Arc::get_mut(&mut self.launch).expect("invariant: launch cells are written before they are shared")[i]
            }
            Space::Table(t, c) => {
                let table = &mut self.tables[t];
                &mut table.cells[table.row * table.columns + c]
            }
        }
    }

    /// Empties a local cell; other spaces keep theirs, and `None` says so.
    pub fn take(&mut self, slot: Slot) -> Option<Cell> {
        match slot.space() {
            Space::Local(i) => Some(std::mem::take(&mut self.local[i])),
            Space::Launch(_) | Space::Table(..) => None,
        }
    }

    /// The launch cells, for other machines of the same launch and tape.
    pub fn shared(&self) -> Arc<Vec<Cell>> {
        self.launch.clone()
    }

    pub fn adopt(&mut self, launch: Arc<Vec<Cell>>) {
        self.launch = launch;
    }

    /// Makes a table's row the current one; whether its cells are still to be computed.
    pub fn enter_row(&mut self, table: usize, row: usize) -> bool {
        let (row, kept) = (row.min(TABLE_ROWS), row < TABLE_ROWS);
        let table = &mut self.tables[table];
        table.row = row;
        if table.filled.len() <= row {
            table.filled.resize(row + 1, false);
            table.cells.resize((row + 1) * table.columns, Cell::Empty);
        }
        !(kept && table.filled[row])
    }

    /// The current row's cells are computed.
    pub fn keep_row(&mut self, table: usize) {
        let table = &mut self.tables[table];
        table.filled[table.row] = true;
    }
}
