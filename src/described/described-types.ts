// Types the handlers of described operations by what openapi-typescript makes of the contract.

import type { Result } from "../plants/define-operation.ts";
import type { OwnCall } from "../plants/own-operation.ts";
import type { CollectionTypes } from "../plants/own-store.ts";

type Method = "get" | "put" | "post" | "delete" | "patch";

/** Handlers by method and path; without types of the contract what they get is unknown. */
export type Handlers<Paths> = string extends keyof Paths
  ? { readonly [key: string]: Handler<UnknownInput & OwnCall<CollectionTypes>> }
  : {
      readonly [Key in KeyOf<Paths>]?: Handler<
        InputOf<OperationOf<Paths, Key>> & OwnCall<CollectionsOf<Paths>>
      >;
    };

type Handler<Call> = (call: Call) => Promise<Result> | Result;

type Unknown = Readonly<Record<string, unknown>>;

interface UnknownInput {
  readonly path: Unknown;
  readonly query: Unknown;
  readonly header: Unknown;
  readonly cookie: Unknown;
  readonly body: unknown;
}

/** The methods and paths that are described, such as "GET /rooms". */
type KeyOf<Paths> = {
  [Path in keyof Paths & string]: {
    [Each in Method]: Paths[Path] extends Record<Each, object> ? `${Uppercase<Each>} ${Path}` : never;
  }[Method];
}[keyof Paths & string];

type OperationOf<Paths, Key> = Key extends `${infer Word} ${infer Path extends keyof Paths & string}`
  ? Paths[Path][Lowercase<Word> & keyof Paths[Path]]
  : never;

/** The parts of a request to an operation. */
interface InputOf<Operation> {
  readonly path: ParametersOf<Operation, "path">;
  readonly query: ParametersOf<Operation, "query">;
  readonly header: ParametersOf<Operation, "header">;
  readonly cookie: ParametersOf<Operation, "cookie">;
  readonly body: BodyOf<Operation>;
}

type ParametersOf<Operation, In extends string> = Operation extends {
  parameters: { [Each in In]?: infer Values };
}
  ? [NonNullable<Values>] extends [never]
    ? Record<never, never>
    : NonNullable<Values>
  : Record<never, never>;

type BodyOf<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? Content[keyof Content]
  : Operation extends { requestBody?: infer Body }
    ? (NonNullable<Body> extends { content: infer Content } ? Content[keyof Content] : never) | undefined
    : undefined;

/** The collections by their names: paths with a POST, by their last segments. */
type CollectionsOf<Paths> = {
  [Path in keyof Paths & string as Path extends `${string}{${string}`
    ? never
    : Paths[Path] extends { post: object }
      ? LastSegment<Path>
      : never]: {
    readonly resource: ResourceOf<Paths, Path>;
    readonly body: NonNullable<BodyOf<OperationOf<Paths, `POST ${Path}`>>> & object;
  };
};

type LastSegment<Path extends string> = Path extends `${infer Start}/`
  ? LastSegment<Start>
  : Path extends `${string}/${infer Rest}`
    ? LastSegment<Rest>
    : Path;

/** A resource as the GET of one returns it, or else the create. */
type ResourceOf<Paths, Path extends string> = [ItemOf<Paths, Path>] extends [never]
  ? CreatedOf<Paths, Path>
  : ItemOf<Paths, Path>;

type ItemOf<Paths, Path extends string> = {
  [Each in keyof Paths & string]: Each extends `${Path}/{${infer Name}}`
    ? Name extends `${string}/${string}`
      ? never
      : JsonOf<OperationOf<Paths, `GET ${Each}`>, 200>
    : never;
}[keyof Paths & string];

type CreatedOf<Paths, Path extends string> = JsonOf<OperationOf<Paths, `POST ${Path}`>, 200 | 201>;

type JsonOf<Operation, Status> = Operation extends { responses: infer Responses }
  ? {
      [Each in keyof Responses & Status]: Responses[Each] extends { content: infer Content }
        ? Content[keyof Content & `${string}json${string}`] & object
        : never;
    }[keyof Responses & Status]
  : never;
