//! The client against servers that behave in every way, over real sockets.

#[cfg(test)]
mod credentials;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod invocation;
#[cfg(test)]
#[cfg(feature = "registry")]
mod registry;
#[cfg(test)]
mod server;
#[cfg(test)]
mod site;
#[cfg(test)]
mod versions;
