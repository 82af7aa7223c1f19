//! The lock of a foreign document.

use redress_import::Import;

use super::Lock;

impl Lock {
    /// What an imported document is kept as, every schema with nothing left out.
    pub fn of_import(import: &Import) -> Lock {
        let whole = import.whole_schemas();
        let operations = import.operations.iter().zip(whole.operations).map(|(imported, schemas)| {
            let operation = imported.operation.clone().with_input(schemas.input).with_output(schemas.output);
            let failures: Vec<_> = operation
                .failures()
                .iter()
                .map(|failure| match schemas.details.get(failure.code()) {
                    Some(details) => failure.clone().with_details(details.clone()),
                    None => failure.clone(),
                })
                .collect();
            operation.without_failures().with_failures(failures)
        });
        let operations: Vec<_> = operations.collect();
        Lock::made(operations, whole.definitions)
    }
}
