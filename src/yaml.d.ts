/** A JSON Schema, of which only what is read is typed. */
interface ObjectSchema {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { readonly type: string; readonly format?: string }>>;
}

declare module "*.yaml" {
  const description: {
    readonly info: { readonly title: string; readonly version: string };
    readonly servers: readonly { readonly url: string; readonly description: string }[];
    readonly components: { readonly schemas: Readonly<Record<string, ObjectSchema>> };
  };
  export default description;
}
