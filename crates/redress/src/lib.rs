//! wip

pub use redress_contract as contract;
pub use redress_contract::{Access, Caller, Code, Effect, EngineCode, Envelope, Kind, Recovery, Retry, Shape};
pub use redress_core::{
    BuildError, Builder, Called, Classification, Classifier, ClassifierRow, ClassifierTable, Consent, ConsentMemory,
    ConsentStore, ContentGuard, Blocked, Credentials, Ctx, DynamicFailure, EndedCall, Event, Events, Extension, Fail, Failure,
    Guard, GuardBroken, GuardedCall, IdempotencyMemory, IdempotencyStore, IdentityError, IdentityProvider, InFlight,
    Limit, Limited, NoFailure, Nothing, Observer, Operation, Outcome, PatternError, Permit, Registry, Request, Secret, Settings,
    State, Subscription, Veto, WhenBroken, consent_grant,
};
#[cfg(feature = "testing")]
pub use redress_core::testing;
pub use redress_macros::{Failure, data, operation};

#[doc(hidden)]
pub mod __private {
    pub use redress_contract as contract;
    pub use redress_core::{
        AnyFailure, Argument, CallerKnown, CallerUnknown, Ctx, Declared, DeclaredBy, Failure, Input, IsEvents, IsOutcome,
        Nothing, Once, Operation, Output, Outcome, Streams, Tagged, field_schema, plain, Events,
    };
    pub use schemars;
    pub use serde;
    pub use serde_json::{self, value::RawValue};
}
