use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use abi_stable::{StableAbi, prefix_type::PrefixTypeTrait, prefix_type::WithMetadata};

use super::{Completed, Frame, Reply, Shared, This, guard};
use crate::types::{Hook, HookSet};

/// One entry into a mod. The mod's side implements it, the host calls it.
pub trait Entry: Send + Sync {
    /// Answers `frame`, at once or with a future, in `reply`; returns the [`super::Status`].
    fn call(&self, frame: &Frame, reply: &mut Reply) -> u32;
}

/// The signature of every entry into a mod.
type Slot = unsafe extern "C" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32;

/// The functions of a [`Callable`].
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = CallableVtableRef, prefix_fields = CallableVtableFields)))]
#[sabi(missing_field(option))]
pub struct CallableVtable {
    /// The one entry.
    #[sabi(last_prefix_field)]
    pub call: unsafe extern "C" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32,
}

/// A tool, a command, an observer or a renderer of a mod: something with one entry.
#[repr(transparent)]
#[derive(StableAbi, Clone)]
pub struct Callable(Shared<CallableVtableRef>);

type BoxedEntry = Box<dyn Entry>;

impl Callable {
    const VTABLE: &'static WithMetadata<CallableVtable> =
        &WithMetadata::new(CallableVtable { call: enter_callable });

    /// Makes `entry` callable from the other side.
    pub fn new(entry: BoxedEntry) -> Self {
        Self(Shared::new(CallableVtableRef(Self::VTABLE.static_as_prefix()), entry))
    }

    /// Enters the mod.
    #[inline]
    pub fn call(&self, frame: &Frame, reply: &mut Reply) -> u32 {
        // SAFETY: the function and the object were made together by `Shared::new`.
        unsafe { self.0.vtable().call()(self.0.this(), frame, reply) }
    }
}

unsafe extern "C" fn enter_callable(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32 {
    // SAFETY: `Callable::new` alone makes objects of this table, with this payload.
    let entry = unsafe { this.payload::<CallableVtableRef, BoxedEntry>() };
    enter(&**entry, frame, reply)
}

#[inline]
fn enter(entry: &dyn Entry, frame: &Frame, reply: &mut Reply) -> u32 {
    match guard(|| entry.call(frame, reply)) {
        Ok(status) => status,
        Err(panic) => {
            reply.completed = Completed::from(panic);
            reply.completed.status
        }
    }
}

macro_rules! hook_vtable {
    ($($(#[$doc:meta])* $field:ident = $hook:ident),* ; $(#[$last_doc:meta])* $last:ident = $last_hook:ident) => {
        /// The functions of a [`HookObject`]: one slot a hook. An absent slot is never called.
        #[repr(C)]
        #[derive(StableAbi)]
        #[sabi(kind(Prefix(prefix_ref = HookVtableRef, prefix_fields = HookVtableFields)))]
        #[sabi(missing_field(option))]
        pub struct HookVtable {
            $($(#[$doc])* pub $field: Option<unsafe extern "C" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32>,)*
            $(#[$last_doc])*
            #[sabi(last_prefix_field)]
            pub $last: Option<unsafe extern "C" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32>,
        }

        impl HookVtableRef {
            #[inline]
            fn slot(self, hook: Hook) -> Option<Slot> {
                match hook {
                    $(Hook::$hook => self.$field(),)*
                    Hook::$last_hook => self.$last(),
                }
            }
        }

        fn vtable_for(hooks: HookSet) -> HookVtable {
            HookVtable {
                $($field: hooks.contains(Hook::$hook).then_some(enter_hook::<{ Hook::$hook as usize }>),)*
                $last: hooks.contains(Hook::$last_hook).then_some(enter_hook::<{ Hook::$last_hook as usize }>),
            }
        }
    };
}

hook_vtable! {
    /// Slot of `transform_context`.
    transform_context = TransformContext,
    /// Slot of `append_system_prompt`.
    append_system_prompt = AppendSystemPrompt,
    /// Slot of `before_tool_call`.
    before_tool_call = BeforeToolCall,
    /// Slot of `after_tool_call`.
    after_tool_call = AfterToolCall,
    /// Slot of `on_turn_start`.
    on_turn_start = OnTurnStart,
    /// Slot of `on_turn_end`.
    on_turn_end = OnTurnEnd,
    /// Slot of `should_stop_after_turn`.
    should_stop_after_turn = ShouldStopAfterTurn,
    /// Slot of `prepare_next_turn`.
    prepare_next_turn = PrepareNextTurn,
    /// Slot of `on_run_end`.
    on_run_end = OnRunEnd,
    /// Slot of `on_stop`.
    on_stop = OnStop,
    /// Slot of `transform_input`.
    transform_input = TransformInput,
    /// Slot of `on_session_start`.
    on_session_start = OnSessionStart;
    /// Slot of `on_session_end`.
    on_session_end = OnSessionEnd
}

/// A set of hooks of a mod.
#[repr(transparent)]
#[derive(StableAbi, Clone)]
pub struct HookObject(Shared<HookVtableRef>);

type HookEntries = [Option<BoxedEntry>; Hook::ALL.len()];

impl HookObject {
    /// Makes the hooks of `entries` callable from the other side.
    pub fn new(entries: impl IntoIterator<Item = (Hook, BoxedEntry)>) -> Self {
        let mut slots: HookEntries = Default::default();
        let mut hooks = HookSet::EMPTY;
        for (hook, entry) in entries {
            hooks.insert(hook);
            slots[hook as usize] = Some(entry);
        }
        Self(Shared::new(vtable_of(hooks), slots))
    }

    /// The hooks that it has.
    pub fn hooks(&self) -> HookSet {
        Hook::ALL.into_iter().filter(|hook| self.0.vtable().slot(*hook).is_some()).collect()
    }

    /// Enters the mod at `hook`; an absent hook has no opinion.
    #[inline]
    pub fn call(&self, hook: Hook, frame: &Frame, reply: &mut Reply) -> u32 {
        match self.0.vtable().slot(hook) {
            // SAFETY: the function and the object were made together by `Shared::new`.
            Some(slot) => unsafe { slot(self.0.this(), frame, reply) },
            None => reply.completed.status,
        }
    }
}

unsafe extern "C" fn enter_hook<const HOOK: usize>(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32 {
    // SAFETY: `HookObject::new` alone makes objects of these tables, with this payload.
    let entries = unsafe { this.payload::<HookVtableRef, HookEntries>() };
    match &entries[HOOK] {
        Some(entry) => enter(&**entry, frame, reply),
        None => reply.completed.status,
    }
}

/// One table per set of hooks, kept for ever: at most as many as sets that are really used.
fn vtable_of(hooks: HookSet) -> HookVtableRef {
    static TABLES: Mutex<BTreeMap<HookSet, HookVtableRef>> = Mutex::new(BTreeMap::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    *tables.entry(hooks).or_insert_with(|| vtable_for(hooks).leak_into_prefix())
}
