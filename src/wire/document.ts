/** JSON:API documents. */

export type Identifier = { readonly id: string; readonly type: string };

export type Relationship = {
  readonly data?: Identifier | readonly Identifier[] | null;
  readonly links?: { readonly related: string };
};

export type Resource = Identifier & {
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, Relationship>>;
  readonly links?: Readonly<Record<string, string>>;
};

export type Document = {
  readonly data: Resource | readonly Resource[];
  readonly included?: readonly Resource[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: Readonly<Record<string, unknown>>;
};

/** A document that is text already; its tag may be of what it was made of, where that is less. */
export class Written {
  readonly text: string;
  readonly tagged: string;

  constructor(text: string, tagged = text) {
    this.text = text;
    this.tagged = tagged;
  }
}

export const mediaType = 'application/vnd.api+json';

/** `included` are whole resources that the document names, each once; absent when none was asked for. */
export const one = (data: Resource, included?: readonly Resource[]): Document => ({
  data,
  ...(included && { included }),
});

/** The same document where nothing is included: what is only linked otherwise is not named either. */
export const withoutIncluded = ({ included, ...document }: Document): Document => ({
  ...document,
  data: Array.isArray(document.data) ? document.data.map(linking) : linking(document.data as Resource),
});

const linking = (resource: Resource): Resource => {
  const relationships = Object.entries(resource.relationships ?? {}).map(([name, relationship]) => {
    const { data, links } = relationship;
    return [name, Array.isArray(data) && links ? { links } : relationship];
  });
  return resource.relationships ? { ...resource, relationships: Object.fromEntries(relationships) } : resource;
};

export const pathOf = (type: string, id: string): string => `/api/v2/${type}/${id}`;

export const identifier = (type: string, id: string): Identifier => ({ id, type });

/** A relationship to one resource, with the path where it is found. */
export const toOne = (type: string, id: string): Relationship => ({
  data: { id, type },
  links: { related: pathOf(type, id) },
});

/** A relationship that is only told where to find. */
export const toLink = (related: string): Relationship => ({ links: { related } });

export const toMany = (type: string, ids: readonly string[]): Relationship => ({
  data: ids.map(id => ({ id, type })),
});
