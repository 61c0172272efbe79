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
    /// By column: the range of its integers in the rows that are kept.
    hulls: Vec<Option<(i64, i64)>>,
    /// Rows that are kept.
    kept: usize,
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

    /// A table's current row, where it is one that is kept.
    #[inline]
    pub fn kept_row(&self, table: usize) -> Option<usize> {
        let row = self.tables[table].row;
        (row < TABLE_ROWS).then_some(row)
    }

    /// The current row's cells are computed.
    pub fn keep_row(&mut self, table: usize) {
        let table = &mut self.tables[table];
        table.filled[table.row] = true;
        if table.row == TABLE_ROWS {
            return;
        }
        table.kept += 1;
        table.hulls.resize(table.columns, None);
        let first = table.row * table.columns;
        for (hull, cell) in table.hulls.iter_mut().zip(&table.cells[first..first + table.columns]) {
            let Some((lo, hi)) = hull_of(cell) else { continue };
            *hull = Some(hull.map_or((lo, hi), |(least, most)| (least.min(lo), most.max(hi))));
        }
    }

    /// How many of a table's rows are kept.
    pub fn kept(&self, table: usize) -> usize {
        self.tables[table].kept
    }

    /// The range of an integer cell; of a table's column, in all rows that are kept.
    pub fn hull_of_rows(&self, slot: Slot) -> Option<(i64, i64)> {
        match slot.space() {
            Space::Table(table, column) => self.tables[table].hulls[column],
            Space::Local(_) | Space::Launch(_) => hull_of(self.get(slot)),
        }
    }
}

/// The range of a cell of integers.
pub fn hull_of(cell: &Cell) -> Option<(i64, i64)> {
    match cell {
        Cell::Int(s) => Some((s.value, s.value)),
        Cell::Ints(block) => Some((block.lo, block.hi)),
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => None,
    }
}
