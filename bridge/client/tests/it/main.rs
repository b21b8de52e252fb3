//! Tests of the client against servers of all kinds, over real sockets.

#[cfg(test)]
mod bindings;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod cutting;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod invocation;
#[cfg(test)]
mod outcome;
#[cfg(test)]
mod rebinding;
#[cfg(test)]
#[cfg(feature = "registry")]
mod registry;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod server;
#[cfg(test)]
mod site;
#[cfg(test)]
mod versions;
