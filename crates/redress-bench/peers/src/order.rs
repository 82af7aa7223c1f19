//! What `total` reads, for the peers that take any serde type.

use serde::{Deserialize, Serialize};

#[derive(Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "decoding the members is what is measured")]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) quantity: u32,
    pub(crate) price: f64,
    pub(crate) express: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) note: Option<String>,
}

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct Orders {
    pub(crate) orders: Vec<Order>,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Total {
    pub(crate) total: f64,
}

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct Greet {
    pub(crate) name: String,
    pub(crate) times: u32,
}

#[derive(Serialize, Clone, schemars::JsonSchema)]
pub(crate) struct Greeting {
    pub(crate) message: String,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Missing {
    pub(crate) name: String,
}

impl Orders {
    pub(crate) fn total(&self) -> Total {
        Total { total: self.orders.iter().map(|order| order.price * f64::from(order.quantity)).sum() }
    }
}

impl Greet {
    pub(crate) fn greeting(&self) -> Greeting {
        Greeting { message: format!("Hello {}, {} times", self.name, self.times) }
    }
}
