/** Thrown at the end of a dry run, so that the store undoes all of it; it carries the answer that the write would have had. */
export class Rehearsed extends Error {
  readonly answer: object;

  constructor(answer: object) {
    super('a dry run is undone');
    this.answer = answer;
  }
}
