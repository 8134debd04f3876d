/** Which of several forms of an answer a client takes, by its Accept header. */

/** Parameters that ask for nothing but what is given anyway. */
const harmless = /^(profile=.*|charset="?utf-8"?|header="?present"?)$/i;

/** The parts between commas or semicolons, which within quotes part nothing. In one pass, however the header is made. */
const commas = /(?:[^,"]|"[^"]*(?:"|$))+/g;
const semicolons = /(?:[^;"]|"[^"]*(?:"|$))+/g;
const partsOf = (text: string, between: RegExp): string[] => (text.match(between) ?? []).map(part => part.trim());

type Range = { readonly type: string; readonly quality: number };

/** Undefined where it is malformed, or asks for what there is not. */
const rangeOf = (text: string): Range | undefined => {
  const [type = '', ...parameters] = partsOf(text, semicolons);
  const at = parameters.findIndex(parameter => /^q\s*=/i.test(parameter));
  const asked = at < 0 ? parameters : parameters.slice(0, at);
  const quality = at < 0 ? '1' : (parameters[at] ?? '').replace(/^q\s*=\s*/i, '');
  const isKnown = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(quality) && asked.every(each => harmless.test(each));
  return isKnown ? { type: type.toLowerCase(), quality: Number(quality) } : undefined;
};

/** The form that is wanted most, of equals the one that is named most exactly and then the first; undefined where none is wanted. */
export const acceptable = <F extends string>(header: string | undefined, forms: readonly F[]): F | undefined => {
  if (header === undefined || header.trim() === '') return forms[0];
  const ranges = partsOf(header, commas).flatMap(text => rangeOf(text) ?? []);
  const wanted = forms.flatMap(form => {
    const [type = ''] = form.split(';');
    const names = [type, `${type.split('/')[0]}/*`, '*/*'];
    // The range that names a type most exactly is the one that counts for it.
    const named = names.map(name => ranges.filter(range => range.type === name));
    const exactness = named.findIndex(({ length }) => length > 0);
    const quality = Math.max(0, ...(named[exactness] ?? []).map(range => range.quality));
    return quality > 0 ? [{ form, quality, exactness }] : [];
  });
  return wanted.toSorted((a, b) => b.quality - a.quality || a.exactness - b.exactness)[0]?.form;
};
