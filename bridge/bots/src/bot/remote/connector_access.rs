//! Admits calls of bots: by the secret in a service URL, and by the id of a file.

use reqwest::header::HeaderValue;

use super::{
    Channel, ConnectorCall,
    connector_session::{ConnectorError, ConnectorSession, Result},
    files::File,
};

impl Channel {
    /// Authenticates a call from a bot to a service URL.
    pub async fn admit(
        &self,
        secret: &str,
        authorization: Option<&HeaderValue>,
    ) -> Result<ConnectorSession> {
        let channel = &self.0;
        let found = channel.service_urls.find(secret).await?;
        let (secret, scope) = found.ok_or(ConnectorError::UnknownAddress)?;
        let bot = channel.bot(&scope).ok_or(ConnectorError::UnknownAddress)?;
        let call = ConnectorCall {
            agent: &bot.name,
            service_url: &channel.service_url(&bot, &secret),
            authorization,
        };
        bot.admission.admit(&call).await?;
        Ok(ConnectorSession { channel: channel.clone(), bot, secret, scope })
    }

    /// Returns the description of a file.
    pub async fn file(&self, id: &str) -> Result<File> {
        let found = self.0.files.find(id).await?;
        found.ok_or(ConnectorError::Attachment)
    }

    /// Returns the bytes of a view of a file.
    pub async fn view(&self, id: &str, view: &str) -> Result<(File, Vec<u8>)> {
        let file = self.file(id).await?;
        let bytes = self.0.files.bytes(id, &file, view).await?;
        Ok((file, bytes.ok_or(ConnectorError::Attachment)?))
    }
}
