/** Why a question could not be answered: the one line that the user reads, after the details if there are any. */
export class Failure extends Error {
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}
