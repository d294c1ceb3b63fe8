/**
 * Import rules: data flows one way through the house, and cores do no I/O. The rooms are listed
 * bottom up; each may import those before it.
 */
const rooms = [
  "hrw",
  "moqt",
  "snapshot",
  "routing",
  "quic",
  "http3",
  "client-group",
  "http2",
  "transport",
  "session",
  "client",
  "report",
  "moq-lb",
  "hono",
  "metrics",
  "instance",
  "store",
  "page",
  "agent",
  "gateway",
  "cli",
];
const cores = [
  "hrw",
  "moqt",
  "snapshot",
  "routing",
  "http3",
  "client-group",
  "session",
  "report",
  "moq-lb",
  "hono",
  "metrics",
  "instance",
  "page",
];
const outside = "workers/|test/|bench/|scripts/";

module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "ground-floor",
      comment: "what lies in no room imports nothing of ours but its like",
      severity: "error",
      from: { path: "^src/[^/]+\\.ts$" },
      to: { path: `^(src/[^/]+/|${outside})` },
    },
    ...rooms.map((room, floor) => ({
      name: `${room}-imports-down`,
      severity: "error",
      from: { path: `^src/${room}/` },
      to: {
        path: `^(${[...rooms.slice(floor + 1).map((above) => `src/${above}/`), outside].join("|")})`,
      },
    })),
    {
      name: "moqt-without-hashing",
      comment: "the wire format and the hash know nothing of each other",
      severity: "error",
      from: { path: "^src/moqt/" },
      to: { path: "^src/hrw/" },
    },
    {
      name: "snapshot-without-moqt",
      severity: "error",
      from: { path: "^src/snapshot/" },
      to: { path: "^src/moqt/" },
    },
    {
      name: "cores-do-no-io",
      comment: "cores import no runtime module",
      severity: "error",
      from: { path: `^src/((${cores.join("|")})/|[^/]+\\.ts$)` },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "no-unknown",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^(bun|cloudflare):" },
    },
    {
      name: "src-without-dev-packages",
      severity: "error",
      from: { path: "^(src|workers)/" },
      to: {
        dependencyTypes: ["npm-dev"],
        pathNot: "^node_modules/(@cloudflare/workers-types|@types/)",
      },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["bun", "import", "types", "default"],
    },
  },
};
