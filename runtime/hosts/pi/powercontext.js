// The pi coding agent's part: before each prompt's turn it asks the host kit for a context, and gives pi the text
// unchanged as a message of its own beside the prompt. Whatever goes wrong, the turn goes on without one.
//
// POWERCONTEXT_HOST_PYTHON names the Python that has the kit (default python3); the other POWERCONTEXT_HOST_ variables
// are the kit's (docs/hosts.md).
import { spawn } from "node:child_process";

// The kit ends itself after its own time-out; this is for one that does not even start.
const GRACE_SECONDS = 10;
const MAX_TEXT_BYTES = 32768;

export default function powercontext(pi) {
  pi.on("before_agent_start", async (event, ctx) => {
    const { text, diagnostic } = await prepare(event.prompt);
    if (diagnostic && ctx.hasUI) ctx.ui.notify(diagnostic.trimEnd(), "warning");
    else if (diagnostic) process.stderr.write(diagnostic);
    if (!text) return undefined;
    return { message: { customType: "powercontext", content: text, display: false } };
  });
}

function prepare(query) {
  return new Promise((resolve) => {
    const command = process.env.POWERCONTEXT_HOST_PYTHON || "python3";
    // -P: what lies in the user's working directory is not imported.
    const child = spawn(command, ["-P", "-m", "runtime.hosts", "prepare"]);
    const seconds = (Number(process.env.POWERCONTEXT_HOST_TIMEOUT_SECONDS) || 2) + GRACE_SECONDS;
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      done();
    }, seconds * 1000);

    function done(prepared) {
      // A timer that is left would keep pi from ending.
      clearTimeout(timer);
      const told = { event: "powercontext_prepare", outcome: "skipped", reason: "command" };
      resolve(prepared ?? { diagnostic: JSON.stringify(told) + "\n" });
    }

    const output = [];
    const errors = [];
    child.stdout.on("data", (bytes) => output.push(bytes));
    child.stderr.on("data", (bytes) => errors.push(bytes));
    child.on("error", () => done());
    child.on("close", (code) => {
      const bytes = Buffer.concat(output);
      if (code !== 0 || bytes.length > MAX_TEXT_BYTES) return done();
      try {
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
        done({ text, diagnostic: Buffer.concat(errors).toString("utf8") });
      } catch {
        done();
      }
    });
    // A command that ended without reading must not end pi.
    child.stdin.on("error", () => {});
    child.stdin.end(query, "utf8");
  });
}
