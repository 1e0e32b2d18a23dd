use std::{
    future::Future,
    pin::Pin,
    ptr,
    task::{Context, Poll},
};

use abi_stable::StableAbi;
use async_ffi::{ContextExt, FfiContext};

use super::{Completed, Status, guard};

/// What is left of an entry whose answer is not there yet. The mod's side implements it.
pub trait Rest: Send + 'static {
    /// Goes on; when it is ready, the answer is in `completed`, and it is ended.
    fn poll(&mut self, cx: &mut Context<'_>, completed: &mut Completed) -> Poll<()>;

    /// Ends it, answered or given up. Its memory may be used for another.
    fn end(self: Box<Self>);
}

/// A [`Rest`], polled from the other side. Unlike a boxed future it does not say where its memory comes from.
#[repr(C)]
#[derive(StableAbi)]
pub struct Pending {
    /// Null when it is over.
    rest: *mut (),
    /// Ends it, unless it returns [`Status::Pending`].
    poll: unsafe extern "C" fn(rest: *mut (), cx: &mut FfiContext<'_>, completed: &mut Completed) -> u32,
    end: unsafe extern "C" fn(rest: *mut ()),
}

// SAFETY: what is behind the pointer is `Send` (required by `Rest`), and owned.
unsafe impl Send for Pending {}

impl Pending {
    /// Makes `rest` pollable from the other side.
    pub fn new<R: Rest>(rest: Box<R>) -> Self {
        Self { rest: Box::into_raw(rest).cast(), poll: poll::<R>, end: end::<R> }
    }

    /// Goes on; the status and the answer are in `completed` when it is ready. It is over then: polled again, it
    /// has failed.
    #[inline]
    pub fn poll_into(&mut self, cx: &mut Context<'_>, completed: &mut Completed) -> Poll<()> {
        if self.is_over() {
            *completed = Completed::fault(Status::Failed, "polled again after it was done");
            return Poll::Ready(());
        }
        // SAFETY: the function and the pointer were made together by `new`, and it is not over.
        let status = cx.with_ffi_context(|cx| unsafe { (self.poll)(self.rest, cx, completed) });
        if status == Status::Pending as u32 {
            return Poll::Pending;
        }
        self.rest = ptr::null_mut();
        completed.status = status;
        Poll::Ready(())
    }

    /// Whether it was answered: nothing of the mod's is left.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.rest.is_null()
    }
}

impl Future for Pending {
    type Output = Completed;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Completed> {
        let mut completed = Completed::default();
        self.poll_into(cx, &mut completed).map(|()| completed)
    }
}

impl Drop for Pending {
    #[inline]
    fn drop(&mut self) {
        if !self.is_over() {
            // SAFETY: as in `poll_into`.
            unsafe { (self.end)(self.rest) }
        }
    }
}

unsafe extern "C" fn poll<R: Rest>(rest: *mut (), cx: &mut FfiContext<'_>, completed: &mut Completed) -> u32 {
    // SAFETY: `Pending::new` alone passes this function on, with a box of this type that it owns.
    let polled = guard(|| cx.with_context(|cx| unsafe { &mut *rest.cast::<R>() }.poll(cx, completed)));
    match polled {
        Ok(Poll::Pending) => return Status::Pending as u32,
        // To the host it would not be over, although it is ended below.
        Ok(Poll::Ready(())) if completed.status == Status::Pending as u32 => {
            *completed = Completed::fault(Status::Failed, "ready with an answer that is pending");
        }
        Ok(Poll::Ready(())) => {}
        Err(panic) => *completed = Completed::from(panic),
    }
    // SAFETY: as above; whoever called it does so no more.
    unsafe { end::<R>(rest) };
    completed.status
}

unsafe extern "C" fn end<R: Rest>(rest: *mut ()) {
    // SAFETY: as in `poll`, and called once.
    let rest = unsafe { Box::from_raw(rest.cast::<R>()) };
    let _told_nobody = guard(|| rest.end());
}
