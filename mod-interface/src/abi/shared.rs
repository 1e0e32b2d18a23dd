use std::{
    alloc::Layout,
    marker::PhantomData,
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering, fence},
};

use abi_stable::StableAbi;

use super::guard;

/// A counted pointer to an object that one side made and both sides use.
///
/// The count is inlined on both sides; calls and the last drop go through pointers that the making
/// side put there, so code and allocator are always its own.
#[repr(transparent)]
#[derive(StableAbi)]
pub struct Shared<V>(NonNull<Header<V>>);

/// The part of an object that both sides know.
#[repr(C)]
#[derive(StableAbi)]
pub struct Header<V> {
    count: AtomicUsize,
    free: unsafe extern "C" fn(NonNull<()>),
    vtable: V,
}

#[repr(C)]
struct Object<V, T> {
    header: Header<V>,
    payload: T,
}

/// An object, lent for the time of a call to the functions of its table.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy)]
pub struct This<'a>(NonNull<()>, PhantomData<&'a ()>);

// SAFETY: payloads are `Send + Sync` (required by `new`), tables are pointers to immutable statics,
// and the count is atomic.
unsafe impl<V: Send + Sync> Send for Shared<V> {}
// SAFETY: as above; `&Shared` gives out `&V` and calls that take `&T`.
unsafe impl<V: Send + Sync> Sync for Shared<V> {}

impl<V: Copy> Shared<V> {
    /// Makes an object whose functions are `vtable`.
    ///
    /// The functions of `vtable` may assume that they are called with a payload of type `T`: nothing
    /// else in this module makes an object of that table.
    pub(super) fn new<T: Send + Sync + 'static>(vtable: V, payload: T) -> Self {
        let header = Header { count: AtomicUsize::new(1), free: free::<V, T>, vtable };
        let object = Box::into_raw(Box::new(Object { header, payload }));
        // SAFETY: a box is never null, and the header is the first field of a `repr(C)` struct.
        Self(unsafe { NonNull::new_unchecked(object.cast()) })
    }

    /// The object's functions.
    pub(super) fn vtable(&self) -> V {
        // SAFETY: the pointer is valid as long as a `Shared` to it lives.
        unsafe { self.0.as_ref() }.vtable
    }

    /// Lends the object to a function of its table.
    pub(super) fn this(&self) -> This<'_> {
        This(self.0.cast(), PhantomData)
    }

    /// Looks at the payload.
    ///
    /// # Safety
    /// The object must have been made by `new::<T>` of this copy of the crate.
    pub(super) unsafe fn payload<T>(&self) -> &T {
        // SAFETY: the caller vouches for the type; the object lives as long as `self`.
        unsafe { &self.0.cast::<Object<V, T>>().as_ref().payload }
    }

    /// Looks at the payload as its only owner; `None` while somebody else holds the object.
    ///
    /// # Safety
    /// As for [`Self::payload`].
    pub(super) unsafe fn payload_mut<T>(&mut self) -> Option<&mut T> {
        // SAFETY: the pointer is valid as long as a `Shared` to it lives.
        let alone = unsafe { self.0.as_ref() }.count.load(Ordering::Acquire) == 1;
        // SAFETY: with a count of one and `&mut self`, nobody else can reach the object; the caller
        // vouches for the type.
        alone.then(|| unsafe { &mut self.0.cast::<Object<V, T>>().as_mut().payload })
    }
}

impl<'a> This<'a> {
    /// Looks at the payload.
    ///
    /// # Safety
    /// The object must have been made by `Shared::<V>::new::<T>` of this copy of the crate. A
    /// function of a table may rely on that for its own `V` and `T`.
    pub(super) unsafe fn payload<V: 'static, T: 'static>(self) -> &'a T {
        // SAFETY: the caller vouches for the type; the object is lent for 'a.
        unsafe { &self.0.cast::<Object<V, T>>().as_ref().payload }
    }
}

impl<V> Shared<V> {
    /// Two more references, counted at once.
    #[inline]
    pub(super) fn twice(&self) -> (Self, Self) {
        self.count_up(2);
        (Self(self.0), Self(self.0))
    }

    #[inline]
    fn count_up(&self, by: usize) {
        // SAFETY: the pointer is valid as long as a `Shared` to it lives. Relaxed will do: a new
        // reference is made from one that is there.
        let before = unsafe { self.0.as_ref() }.count.fetch_add(by, Ordering::Relaxed);
        // So many clones were leaked: before the count starts anew, the program ends.
        if before > isize::MAX as usize {
            std::process::abort();
        }
    }
}

impl<V> Clone for Shared<V> {
    #[inline]
    fn clone(&self) -> Self {
        self.count_up(1);
        Self(self.0)
    }
}

impl<V> Drop for Shared<V> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the pointer is valid until the count is zero, and this drop holds one.
        let header = unsafe { self.0.as_ref() };
        if header.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            let free = header.free;
            // SAFETY: this was the last reference, and `free` was put there for this object's type.
            unsafe { free(self.0.cast()) }
        }
    }
}

/// Frees an object on the side that made it. A payload that panics when dropped is dropped as far as
/// it goes; its memory is freed all the same.
unsafe extern "C" fn free<V, T>(object: NonNull<()>) {
    let object = object.cast::<Object<V, T>>();
    // SAFETY: called once, by the last owner, with a pointer that `new::<T>` got from a box. The
    // payload is dropped in place first so that a panic in it cannot keep the memory.
    unsafe {
        let _reported_nowhere_else = guard(|| std::ptr::drop_in_place(&raw mut (*object.as_ptr()).payload));
        std::ptr::drop_in_place(&raw mut (*object.as_ptr()).header);
        std::alloc::dealloc(object.as_ptr().cast(), Layout::new::<Object<V, T>>());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use super::Shared;

    /// Counts how often it was dropped, and may panic while it is.
    struct Payload(Arc<AtomicUsize>, bool);

    impl Drop for Payload {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
            assert!(!self.1, "dropped");
        }
    }

    fn shared(panics: bool) -> (Shared<u32>, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Shared::new(7, Payload(Arc::clone(&drops), panics)), drops)
    }

    #[test]
    fn the_payload_is_dropped_once_by_the_last_owner_wherever_that_is() {
        let (shared, drops) = shared(false);
        let clones: Vec<_> = (0..4).map(|_| shared.clone()).collect();
        drop(shared);
        assert_eq!(drops.load(Relaxed), 0);
        let threads: Vec<_> = clones
            .into_iter()
            .map(|clone| {
                std::thread::spawn(move || {
                    for _ in 0..1000 {
                        assert_eq!(clone.clone().vtable(), 7);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(drops.load(Relaxed), 1);
        assert_eq!(Arc::strong_count(&drops), 1, "its memory is free");
    }

    #[test]
    fn the_payload_is_changed_by_its_only_owner_alone() {
        let mut number = Shared::new(0_u32, 1_u64);
        let clone = number.clone();
        // SAFETY: the payload is a `u64`.
        unsafe {
            assert_eq!(number.payload_mut::<u64>(), None);
            drop(clone);
            *number.payload_mut::<u64>().unwrap() = 2;
            assert_eq!(*number.payload::<u64>(), 2);
            assert_eq!(*number.this().payload::<u32, u64>(), 2);
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_harms_nobody() {
        crate::abi::silence_panics();
        let (shared, drops) = shared(true);
        drop(shared);
        assert_eq!(drops.load(Relaxed), 1);
        assert_eq!(Arc::strong_count(&drops), 1, "what is behind the panic is dropped too");
    }
}
