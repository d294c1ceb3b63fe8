/** The two spaces of IDs of data streams: Track Aliases, and Request IDs of fetches. */
export type IdKind = "track" | "fetch";
