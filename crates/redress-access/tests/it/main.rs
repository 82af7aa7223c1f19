//! Who calls, tried from outside.
