//! Real documents, as the importer keeps them.

use std::{fs::File, io::Read, path::PathBuf};

use flate2::read::GzDecoder;
use redress_check::{Lock, changes};
use redress_import::{ReadOptions, openapi};

fn lock(name: &str) -> Lock {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../redress-import/tests/documents"));
    let mut document = Vec::new();
    let packed = File::open(folder.join(format!("{name}.gz"))).unwrap();
    GzDecoder::new(packed).read_to_end(&mut document).unwrap();
    Lock::of_import(&openapi::read(&document, &ReadOptions::default()).unwrap())
}

#[test]
fn a_real_document_is_kept_read_again_and_the_same_as_itself() {
    for name in ["museum.yaml", "figma.yaml", "qdrant-v1.17.json", "twilio-api-v2010.json"] {
        let one = lock(name);
        assert_eq!(changes(&one, &one), [], "{name}");
        let again = Lock::read(one.to_json().as_bytes()).unwrap();
        assert_eq!(again.hash(), one.hash(), "{name}");
        assert_eq!(changes(&one, &again), [], "{name}");
    }
}
