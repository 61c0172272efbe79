//! Statements on the way of forward: what they bind.
//!
//! Branches are joined, bodies of loops run twice, so that what one turn leaves meets the next.

use super::events::Kind;
use super::value::Value;
use super::walk::{Scope, Walker, symbol};
use crate::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};

impl<'a> Walker<'a> {
    pub fn block(&mut self, block: &'a [Stmt], scope: &mut Scope<'a>) {
        block.iter().for_each(|stmt| self.stmt(stmt, scope));
    }

    fn stmt(&mut self, stmt: &'a Stmt, scope: &mut Scope<'a>) {
        // Loops inside loops run many times without an expression between them.
        if !self.step(stmt.span, 0) {
            return;
        }
        match &stmt.kind {
            StmtKind::Import(names) => {
                for (path, alias) in names {
                    let root = path.split('.').next().unwrap_or(path).to_owned();
                    let (name, path) = alias.clone().map_or_else(|| (root.clone(), root.clone()), |alias| (alias, path.clone()));
                    scope.names.insert(name, Value::Path(path));
                }
            }
            StmtKind::ImportFrom { module, names, level: _ } => {
                for (name, alias) in names {
                    scope.names.insert(alias.as_ref().unwrap_or(name).clone(), Value::Path(format!("{module}.{name}")));
                }
            }
            StmtKind::Function(def) => {
                scope.names.insert(def.name.clone(), Value::Function(def, None));
            }
            StmtKind::Assign { targets, value } => {
                let value = self.eval(value, scope);
                targets.iter().for_each(|target| self.assign(target, &value, scope));
            }
            StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => {
                let value = self.eval(value, scope);
                self.assign(target, &value, scope);
            }
            StmtKind::AugAssign { target, op, value } => {
                let (old, new) = (self.eval(target, scope), self.eval(value, scope));
                let result = self.binary(stmt.span, &format!("{}=", symbol(*op)), &old, &new);
                self.assign(target, &result, scope);
            }
            StmtKind::Expr(e) => drop(self.eval(e, scope)),
            StmtKind::If { test, body, orelse } => {
                self.eval(test, scope);
                self.step(stmt.span, scope.parts());
                let before = scope.names.clone();
                self.block(body, scope);
                let after = std::mem::replace(&mut scope.names, before);
                self.block(orelse, scope);
                for (name, value) in after {
                    let joined = match scope.names.remove(&name) {
                        Some(other) => value.join(other),
                        None => value,
                    };
                    scope.names.insert(name, joined);
                }
            }
            StmtKind::For { target, iter, body, orelse } => {
                let items = self.eval(iter, scope);
                if items.is_tensor() {
                    self.event(iter.span, Kind::Index);
                }
                for _ in 0..2 {
                    self.assign(target, &items.element(), scope);
                    self.block(body, scope);
                }
                self.block(orelse, scope);
            }
            StmtKind::While { test, body, orelse } => {
                for _ in 0..2 {
                    self.eval(test, scope);
                    self.block(body, scope);
                }
                self.block(orelse, scope);
            }
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Value::Number, |value| self.eval(value, scope));
                scope.returned.push(value);
            }
            StmtKind::Assert { test, message: _ } => drop(self.eval(test, scope)),
            StmtKind::Other(what) => {
                self.event(stmt.span, Kind::Unread(format!("forward goes through `{what}`, which is not read")))
            }
            StmtKind::Class { name, .. } => {
                self.event(stmt.span, Kind::Unread(format!("class `{name}` inside a function is not read")))
            }
            // An error ends forward; `pass` is another rule's.
            StmtKind::Raise(_) | StmtKind::AnnAssign { .. } | StmtKind::Pass | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn assign(&mut self, target: &'a Expr, value: &Value<'a>, scope: &mut Scope<'a>) {
        match &target.kind {
            ExprKind::Name(name) => drop(scope.names.insert(name.clone(), value.clone())),
            ExprKind::Starred(inner) => self.assign(inner, &Value::List(vec![value.element()]), scope),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let part = match value {
                        Value::List(values) if values.len() == items.len() => values[i].clone(),
                        other => other.element(),
                    };
                    self.assign(item, &part, scope);
                }
            }
            ExprKind::Attribute { value: object, name } => match self.eval(object, scope) {
                Value::Instance(class) => drop(self.fields.entry(class).or_default().insert(name.clone(), value.clone())),
                Value::Path(_) | Value::Class(_) | Value::Function(..) | Value::Kernel(_) => {
                    self.event(target.span, Kind::Unread(format!("forward sets `{name}` where others look it up")));
                }
                _ => {}
            },
            ExprKind::Subscript { value: object, index } => {
                self.eval(index, scope);
                match self.eval(object, scope) {
                    Value::List(mut values) => {
                        let position = if let ExprKind::Int(i) = &index.kind { usize::try_from(*i).ok() } else { None };
                        match position.and_then(|i| values.get_mut(i)) {
                            Some(place) => *place = value.clone(),
                            None => values.push(value.clone()),
                        }
                        // A list that is written where it is used has no name to be found by.
                        if !matches!(object.kind, ExprKind::List(_) | ExprKind::Tuple(_)) {
                            self.assign(object, &Value::List(values), scope);
                        }
                    }
                    object if object.is_tensor() => self.event(target.span, Kind::Index),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
