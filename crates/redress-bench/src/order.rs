//! What the larger inputs are made of.

use redress::data;

/// An order of about 200 bytes.
#[data]
pub struct Order {
    /// Which it is.
    pub id: String,
    /// Whose it is.
    pub customer: String,
    /// How many pieces.
    pub quantity: u32,
    /// What one of them costs.
    pub price: f64,
    /// Whether it is in a hurry.
    pub express: bool,
    /// What it is filed under.
    pub tags: Vec<String>,
    /// What the customer wants to add.
    pub note: Option<String>,
}

/// Many orders.
#[data]
pub struct Orders {
    /// The orders.
    pub orders: Vec<Order>,
}

/// An order as JSON.
pub fn order_json() -> String {
    serde_json::json!({
        "id": "ord-2026-000417", "customer": "c-90125", "quantity": 3, "price": 19.95, "express": true,
        "tags": ["garden", "gift"], "note": "Leave it with the neighbours if nobody opens the door."
    })
    .to_string()
}

/// So many orders as JSON: about 20 are 4 kB.
pub fn orders_json(count: usize) -> String {
    format!(r#"{{"orders":[{}]}}"#, vec![order_json(); count].join(","))
}
