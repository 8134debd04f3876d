/** What tests read off an answer. */

import type { Answer, Json } from './client.ts';

export const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: Json) => id);
export const namesOf = ({ body }: Answer): string[] => body.data.map(({ attributes }: Json) => attributes.name);

/** Where the errors point, in the order of the alphabet. */
export const pointers = ({ body }: Answer): string[] => body.errors.map((error: Json) => error.source?.pointer).sort();
export const details = ({ body }: Answer): string[] => body.errors.map((error: Json) => error.detail);

let count = 0;

/** A name that no other thing of the same test file has. */
export const fresh = (word: string): string => `${word}-${count++}`;
