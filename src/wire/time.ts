/** Times as text: ours in UTC, and as clients write them: RFC 3339, in any zone. */

const form = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** In UTC with milliseconds. The last one is kept: many requests come within one millisecond. */
export const textOf = (time: Date): string => {
  if (time.getTime() !== shared.time) shared = { time: time.getTime(), text: time.toISOString() };
  return shared.text;
};

let shared = { time: Number.NaN, text: '' };

export const timeForm = form.source;

/** In UTC with milliseconds, as all our times are, so that they compare as text; undefined for what is no time. */
export const instantOf = (text: string): string | undefined => {
  const [, year, month, day] = form.exec(text) ?? [];
  const time = new Date(text);
  // A day that its month does not have would become one of the next.
  const hasDay = Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const instant = Number.isNaN(time.getTime()) || !hasDay ? '' : time.toISOString();
  return /^\d{4}-/.test(instant) ? instant : undefined;
};
