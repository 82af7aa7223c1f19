use redress::Failure;

#[derive(Debug, Failure)]
enum Store {
    /// The store is gone.
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    StoreGone,
}

#[derive(Debug, Failure)]
#[failure(include(Store, Store))]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone,
}

fn main() {}
