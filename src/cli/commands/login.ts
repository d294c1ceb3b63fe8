import { agentOptions } from "../agent-options.ts";
import { command } from "../command.ts";
import { openAgent } from "../open-deployment.ts";
import { print, tell } from "../terminal.ts";

/** `yard login`: a link that signs a browser in to the agent's pages. */
export const login = command({
  name: "login",
  summary: "print a link that signs a browser in to the agent's pages",
  args: agentOptions,
  details: [
    "The link counts once and for five minutes. It is as good as your key for a session of 8 hours.",
  ],
  examples: ["login", "login --agent https://agent.example"],
  async run(where) {
    const agent = await openAgent(where);
    tell("open this link in your browser and sign in there, within five minutes:");
    print(await agent.loginLink());
    return undefined;
  },
});
