use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What a caught panic said, and where: `index out of bounds … at src/lib.rs:12:5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic(pub String);

/// Runs `f`; a panic in it comes back as a value, its payload dropped, nothing printed.
///
/// # Errors
/// The panic's message, with its place when [`silence_panics`] was called in this copy of `std`.
#[inline]
pub fn guard<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    quietly(f).map_err(caught)
}

/// [`guard`] for code that is under one anyway.
///
/// # Errors
/// As for [`guard`].
#[inline]
pub(crate) fn guard_again<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(f)).map_err(caught)
}

/// Runs `f` as deep in guards as it is; the thread's counter is looked up once, as that costs a call in a
/// shared library.
#[inline]
fn quietly<T>(f: impl FnOnce() -> T) -> std::thread::Result<T> {
    DEPTH.with(|depth| {
        depth.set(depth.get() + 1);
        let result = catch_unwind(AssertUnwindSafe(f));
        depth.set(depth.get() - 1);
        result
    })
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Panic {
    let text = message(&*payload);
    // The place is known of the last panic, which was another one where the author's code caught it and
    // raised an older one again.
    let last = LAST.try_with(RefCell::take).ok().flatten().filter(|last| last.starts_with(&text));
    let said = last.unwrap_or(text);
    discard(payload);
    Panic(said)
}

/// Makes panics under a [`guard`] silent, and their place known. Panics elsewhere are told as before.
///
/// Every mod has a `std` of its own, so every mod calls this once.
pub fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let outside = take_hook();
        set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                return outside(info);
            }
            let place =
                info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
            let said = message(info.payload()) + &place;
            // In the last moments of a thread nothing is kept for it any more.
            let _unkept = LAST.try_with(|last| last.replace(Some(said)));
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

/// Drops a payload whose own drop may panic, with a payload whose own drop may panic.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(next) = quietly(|| drop(payload)) {
        std::mem::forget(next);
    }
    let _unkept = LAST.try_with(RefCell::take);
}
