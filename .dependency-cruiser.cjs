/** Import rules: data flows one way through the house, cores do no I/O. */
const floors = [
  ["hrw", "(moqt|snapshot|routing|moq-lb|hono|cli)"],
  ["moqt", "(hrw|snapshot|routing|moq-lb|hono|cli)"],
  ["snapshot", "(moqt|routing|moq-lb|hono|cli)"],
  ["routing", "(moq-lb|hono|cli)"],
  ["moq-lb", "(hono|cli)"],
  ["hono", "cli"],
];

module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    {
      name: "ground-floor",
      comment: "bytes, varint and errors import nothing of ours but each other",
      severity: "error",
      from: { path: "^src/[^/]+\\.ts$" },
      to: { path: "^(src/[^/]+/|workers/|test/|bench/)" },
    },
    ...floors.map(([room, above]) => ({
      name: `${room}-imports-down`,
      severity: "error",
      from: { path: `^src/${room}/` },
      to: { path: `^(src/${above}/|workers/|test/|bench/)` },
    })),
    {
      name: "cores-do-no-io",
      comment: "cores import no runtime module",
      severity: "error",
      from: { path: "^src/(hrw|moqt|snapshot|routing|moq-lb|hono|[^/]+\\.ts$)" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "no-unknown",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^(bun:|cloudflare:|#test)" },
    },
    {
      name: "src-without-dev-packages",
      severity: "error",
      from: { path: "^(src|workers)/" },
      to: { dependencyTypes: ["npm-dev"] },
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
