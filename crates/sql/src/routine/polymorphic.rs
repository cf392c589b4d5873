//! Functions whose types are those of the call: anyelement and its kin.
//!
//! Relies on: `base` for what such a type is called.  Promises: a function is made once for each set of types that it is called with,
//! and such a form has a number of its own, the same for every catalogue; PostgreSQL's rules for which types agree.
//! Does not: ranges; rows for such a parameter.
//!
//! ```text
//!   f(anyelement, anyarray) ── f(1, '{2}') ─► element: integer ─► form f(integer, integer[]), number VARIANTS + n
//! ```

use super::StoredRoutine;
use super::signature::{Parameter, ROW, Signature, any_of};
use crate::catalog::Catalog;
use crate::plpgsql::{DataType, ParameterMode, Variable, VariableKind};
use crate::watch;
use quintet_base::types::{Any, format_type};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::cast::{CastContext, cast_context, common_type};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Numbers from here on are no numbers of the catalogue's objects.
const VARIANTS: u32 = 0xF000_0000;

/// As many forms as all functions may have; more than that only a client that makes up types can want.
const VARIANTS_MAX: usize = 4096;

/// What a form is of: the function, and the types of its parameters.
type Of = (RoutineId, Vec<SqlType>);

/// A form, once somebody has asked for it; none if its function has gone.
type Form = OnceLock<Option<Arc<StoredRoutine>>>;

/// The forms of all functions.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    numbers: Arc<Mutex<Numbers>>,
    /// Those that have been made against this catalogue.
    made: OnceLock<Box<[Form]>>,
}

#[derive(Debug, Default)]
struct Numbers {
    by_types: BTreeMap<RoutineId, Vec<(Vec<SqlType>, usize)>>,
    all: Vec<Of>,
}

impl Variants {
    /// For another catalogue: the same numbers.
    pub fn again(&self) -> Variants {
        Variants {
            numbers: Arc::clone(&self.numbers),
            made: OnceLock::new(),
        }
    }

    /// The number of a form.
    fn number(&self, of: RoutineId, types: Vec<SqlType>) -> SqlResult<RoutineId> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = numbers.by_types.get(&of).into_iter().flatten();
        if let Some((_, place)) = { known }.find(|(known, _)| *known == types) {
            return Ok(RoutineId(VARIANTS + *place as u32));
        }
        let place = numbers.all.len();
        if place >= VARIANTS_MAX {
            return Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many sets of types that polymorphic functions are called with",
            ));
        }
        numbers.all.push((of, types.clone()));
        let forms = numbers.by_types.entry(of).or_default();
        forms.push((types, place));
        Ok(RoutineId(VARIANTS + place as u32))
    }

    /// A form as it is made against a catalogue; `None` if the number is none of a form.
    pub fn routine(&self, id: RoutineId, catalog: &Catalog) -> Option<&Arc<StoredRoutine>> {
        let place = id.0.checked_sub(VARIANTS)? as usize;
        let made = self.made.get_or_init(|| {
            let places = (0..VARIANTS_MAX).map(|_| OnceLock::new());
            places.collect()
        });
        let make = || {
            let of = {
                let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
                numbers.all.get(place).cloned()
            };
            let (base, types) = of?;
            let base = catalog.routine(base)?;
            let signature = base.signature(catalog).ok()?;
            let signature = instantiated(signature, id, &types);
            Some(Arc::new(base.variant(id, signature)))
        };
        let form = made.get(place)?;
        if form.get().is_none() {
            let made = make();
            // It may be there none the less.
            if watch::is_over() {
                return None;
            }
            let _ = form.set(made);
        }
        form.get()?.as_ref()
    }

    /// The form of a function for arguments of these types, one for each parameter.
    ///
    /// # Errors
    /// `54000`.
    pub fn of(&self, signature: &Signature, types: Vec<SqlType>) -> SqlResult<Signature> {
        let id = self.number(signature.id, types.clone())?;
        Ok(instantiated(signature, id, &types))
    }
}

/// A signature with other types for its parameters; its result follows.
fn instantiated(signature: &Signature, id: RoutineId, types: &[SqlType]) -> Signature {
    let mut form = signature.clone();
    let mut bound = Bound::default();
    for (parameter, ty) in form.parameters.iter().zip(types) {
        if let SqlType::Any(any) = parameter.ty {
            bound.known(any, *ty);
        }
    }
    form.declared = Some(signature.input_types());
    form.id = id;
    for (parameter, ty) in form.parameters.iter_mut().zip(types) {
        parameter.ty = *ty;
    }
    for column in &mut form.columns {
        if let SqlType::Any(any) = column.ty {
            column.ty = bound.actual(any).unwrap_or(column.ty);
        }
    }
    form
}

/// What the types of a call stand for.
#[derive(Default)]
struct Bound {
    element: Option<SqlType>,
    compatible: Option<SqlType>,
}

impl Bound {
    fn known(&mut self, any: Any, ty: SqlType) {
        let ty = match any.is_array() {
            true => ty.element(),
            false => Some(ty),
        };
        match any.is_compatible() {
            true => self.compatible = self.compatible.or(ty),
            false => self.element = self.element.or(ty),
        }
    }

    fn actual(&self, any: Any) -> Option<SqlType> {
        let own = match any.is_compatible() {
            true => self.compatible,
            false => self.element,
        }?;
        match any.is_array() {
            true => own.array_of(),
            false => Some(own),
        }
    }
}

/// What has become of the types of a candidate.
pub(super) enum Fit {
    /// The types of its parameters.
    Types(Vec<SqlType>),
    /// It cannot be meant.
    No,
    /// Nothing says what they are.
    Unknown(&'static str),
}

/// Whether some parameter's type is that of the call.
pub(crate) fn is_polymorphic(signature: &Signature) -> bool {
    let mut parameters = signature.parameters.iter();
    parameters.any(|parameter| matches!(parameter.ty, SqlType::Any(_)))
}

/// The types of a candidate's parameters. `given`: for each parameter the types of what it is given.
pub(super) fn fit(signature: &Signature, given: &[Vec<SqlType>]) -> Fit {
    let mut bound = Bound::default();
    let (mut elements, mut compatible) = (Vec::new(), Vec::new());
    let mut limits = Vec::new();
    for (parameter, given) in signature.parameters.iter().zip(given) {
        let SqlType::Any(any) = parameter.ty else {
            continue;
        };
        if !parameter.is_input() {
            continue;
        }
        // A list of arguments is the array's elements.
        let is_list = parameter.mode == ParameterMode::Variadic && given.len() != 1;
        for ty in given {
            let ty = match *ty {
                ROW => return Fit::No,
                SqlType::Unknown => SqlType::Unknown,
                ty if any.is_array() && !is_list && !lists(parameter, ty) => match ty.element() {
                    Some(element) => element,
                    None => return Fit::No,
                },
                ty => ty,
            };
            limits.push((any, ty));
            match any.is_compatible() {
                true => compatible.push(ty),
                false => elements.push(ty),
            }
        }
    }
    let uses = |compatible: bool| {
        let mut parameters = signature.parameters.iter();
        parameters.any(|p| matches!(p.ty, SqlType::Any(any) if any.is_compatible() == compatible))
    };
    if uses(false) {
        let known = |ty: &&SqlType| **ty != SqlType::Unknown;
        let Some(&first) = elements.iter().find(known) else {
            return Fit::Unknown(
                "could not determine polymorphic type because input has type unknown",
            );
        };
        if elements.iter().filter(known).any(|ty| *ty != first) {
            return Fit::No;
        }
        bound.element = Some(first);
    }
    if uses(true) {
        // Literals alone are text.
        let Ok(common) = common_type(&compatible, "arguments") else {
            return Fit::No;
        };
        let converts = |ty: &SqlType| cast_context(*ty, common) == Some(CastContext::Implicit);
        if !compatible.iter().all(converts) {
            return Fit::No;
        }
        bound.compatible = Some(common);
    }
    for (any, _) in &limits {
        let own = match any.is_compatible() {
            true => bound.compatible,
            false => bound.element,
        };
        let refused = own.is_some_and(|own| match any {
            Any::NonArray | Any::CompatibleNonArray => own.element().is_some(),
            Any::Enum => !own.is_enum(),
            _ => false,
        });
        if refused {
            return Fit::No;
        }
    }
    let actual = signature
        .parameters
        .iter()
        .map(|parameter| match parameter.ty {
            SqlType::Any(any) => bound.actual(any),
            ty => Some(ty),
        });
    match actual.collect() {
        Some(types) => Fit::Types(types),
        None => Fit::No,
    }
}

/// Whether an argument of this type is one of several that a parameter takes as an array.
fn lists(parameter: &Parameter, ty: SqlType) -> bool {
    parameter.mode == ParameterMode::Variadic && ty.element().is_none()
}

/// Refuses a variable that is declared of any types: `name%TYPE` of a parameter is what it may be.
///
/// # Errors
/// `0A000`.
pub(super) fn check_variable(variable: &Variable) -> SqlResult<()> {
    if let VariableKind::Declared(DataType::Named { name, .. }) = &variable.kind
        && let Some(any) = any_of(name)
    {
        return Err(pseudo(&variable.name, SqlType::Any(any)));
    }
    Ok(())
}

/// `0A000`.
pub(super) fn pseudo(name: &str, ty: SqlType) -> SqlError {
    let message = format!("variable \"{name}\" has pseudo-type {ty}");
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// What a type of a parameter or result must be made of.
///
/// # Errors
/// `42P13` if it follows from no argument.
pub(super) fn check(signature: &Signature) -> SqlResult<()> {
    let has_input = |compatible: bool| {
        let mut inputs = signature.parameters.iter().filter(|p| p.is_input());
        inputs.any(|p| matches!(p.ty, SqlType::Any(any) if any.is_compatible() == compatible))
    };
    for column in &signature.columns {
        let SqlType::Any(any) = column.ty else {
            continue;
        };
        if has_input(any.is_compatible()) {
            continue;
        }
        let ty = format_type(column.ty, TypeMod::NONE);
        let inputs = match any.is_compatible() {
            true => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
            }
            false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        };
        let error = SqlError::new(
            SqlState::INVALID_FUNCTION_DEFINITION,
            "cannot determine result data type",
        );
        return Err(error.detail(format!(
            "A result of type {ty} requires at least one input of type {inputs}."
        )));
    }
    Ok(())
}
