// The console's form: a create through the public operation, with the console's own token or one that the operator gives.

import { BadRequestError, respondError, respondJson } from "../core/admin/responses.ts";
import { CoalescedWork, WriteQueue } from "../core/admin/throttling.ts";
import type { Authenticator } from "../core/auth/authenticator.ts";
import { type ConsoleToken, type ConsoleTokenDependencies, consoleTokenName } from "./console-token.ts";

export interface NewPlantDependencies {
  readonly consoleToken: ConsoleToken;
  readonly lookupHash: ConsoleTokenDependencies["lookupHash"];
  /** Handles POST {base}/plants as if it had come over the network; with an authenticator of its own, if one is given. */
  readonly create: (
    headers: Headers,
    body: string,
    authenticator?: Pick<Authenticator, "authenticate">,
  ) => Promise<Response>;
}

const nameTaken = `A client has a token named "${consoleTokenName}", which is the name of the console's own. Revoke that token, or send the plant with a token that you paste.`;

export class NewPlants {
  readonly #dependencies: NewPlantDependencies;
  readonly #issues = new WriteQueue();
  /** One look-up in the list of tokens for all requests that wait for it. */
  readonly #activeHash: CoalescedWork<string>;

  constructor(dependencies: NewPlantDependencies) {
    this.#dependencies = dependencies;
    this.#activeHash = new CoalescedWork(() => dependencies.consoleToken.activeHash());
  }

  /** Sends a body through the public operation, and returns the whole response. An empty token is the console's own. */
  async create({ token, body }: { token: string; body: string }): Promise<Response> {
    if (!/^[\x21-\x7e]*$/.test(token))
      throw new BadRequestError("The token has characters that a header field cannot hold; paste it again.");
    const headers = new Headers({ "Content-Type": "application/json" });
    let response: Response;
    if (token === "") {
      const hash = await this.#activeHash.run();
      if (hash === "nameTaken") return respondError(409, nameTaken);
      const authenticate = () => this.#dependencies.lookupHash(hash);
      response = await this.#dependencies.create(headers, body, { authenticate });
    } else {
      headers.set("Authorization", `Bearer ${token}`);
      response = await this.#dependencies.create(headers, body);
    }
    return respondJson({
      status: response.status,
      headers: [...response.headers],
      body: await response.text(),
    });
  }

  /** Issues the console's token again, after it was revoked. */
  async issueToken(): Promise<Response> {
    const hash = await this.#issues.run(() => this.#dependencies.consoleToken.issue());
    if (hash === undefined) return respondError(503, "Too many changes of tokens are queued; try again.");
    return hash === "nameTaken" ? respondError(409, nameTaken) : respondJson({});
  }
}
