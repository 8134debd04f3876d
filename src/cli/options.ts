/** What a command is given: by flag, or by the environment. A flag wins. */

import { parseArgs } from 'node:util';
import { Failure } from './fault.ts';

export type Flag = {
  readonly flag: string;
  /** What it is called in the help; a flag without one is on or off. */
  readonly value?: string;
  readonly variables?: readonly string[];
  readonly help: string;
};

/** What every command takes. */
export const commonFlags: readonly Flag[] = [
  {
    flag: 'organization',
    value: 'NAME',
    variables: ['BAILIWICK_ORGANIZATION', 'TFE_ORGANIZATION'],
    help: "the organization; not needed where the token's is the only one",
  },
  {
    flag: 'address',
    value: 'URL',
    variables: ['BAILIWICK_ADDRESS', 'TFE_ADDRESS'],
    help: 'where the server is (default: http://127.0.0.1:8080)',
  },
  {
    flag: 'token',
    value: 'TOKEN',
    variables: ['BAILIWICK_TOKEN', 'TFE_TOKEN'],
    help: 'whose question it is; better in the environment, since others on the machine see flags',
  },
  { flag: 'ca', value: 'FILE', help: 'a certificate to trust, in PEM, as NODE_EXTRA_CA_CERTS does' },
  { flag: 'timeout', value: 'SECONDS', help: 'how long the server may be silent (default: 30)' },
  { flag: 'json', help: 'print JSON:API documents, for programs' },
  { flag: 'help', help: 'this text' },
];

export class Options {
  readonly words: readonly string[];
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;
  readonly #flags: readonly Flag[];
  readonly #environment: NodeJS.ProcessEnv;

  constructor(args: readonly string[], flags: readonly Flag[], environment: NodeJS.ProcessEnv) {
    this.#flags = [...flags, ...commonFlags];
    this.#environment = environment;
    const options = Object.fromEntries(
      this.#flags.map(({ flag, value }) => [flag, { type: value === undefined ? 'boolean' : 'string' } as const]),
    );
    try {
      const help = { ...options, help: { type: 'boolean', short: 'h' } as const };
      const { values, positionals } = parseArgs({ args: [...args], options: help, allowPositionals: true });
      this.#values = values;
      this.words = positionals;
    } catch (error) {
      // Not its words, which may repeat a token.
      const [, flag = 'a flag'] = /'(?:-\w, )?(-{1,2}[\w-]+)/.exec((error as Error).message) ?? [];
      const known = this.#flags.find(each => `--${each.flag}` === flag);
      if (!known) throw new Failure(`${flag} is not known; see --help`);
      if (known.value === undefined) throw new Failure(`${flag} takes no value`);
      throw new Failure(`${flag} takes a value; one that begins with - is given as ${flag}=${known.value}`);
    }
    const empty = Object.entries(this.#values).find(([, value]) => value === '');
    if (empty) throw new Failure(`--${empty[0]} must not be empty`);
  }

  isOn(flag: string): boolean {
    return this.#values[flag] === true;
  }

  get(flag: string): string | undefined {
    const given = this.#values[flag];
    if (typeof given === 'string') return given;
    const { variables = [] } = this.#flags.find(each => each.flag === flag) ?? {};
    return variables.map(name => this.#environment[name]).find(value => value);
  }

  /** The one of these flags that is given, and no other. */
  oneOf<F extends string>(flags: readonly F[]): { readonly flag: F; readonly value: string } | undefined {
    const given = flags.filter(flag => this.#values[flag] !== undefined);
    const named = flags.map(flag => `--${flag}`).join(' or ');
    if (given.length > 1) throw new Failure(`give ${named}, not both`);
    const [flag] = given;
    return flag && { flag, value: `${this.#values[flag]}` };
  }

  requiredOneOf<F extends string>(flags: readonly F[]): { readonly flag: F; readonly value: string } {
    const given = this.oneOf(flags);
    if (given) return given;
    throw new Failure(`${flags.map(flag => `--${flag} NAME`).join(' or ')} is missing`);
  }
}

export const helpOfFlags = (flags: readonly Flag[]): string[] => {
  const left = ({ flag, value }: Flag) => `  --${flag}${value === undefined ? '' : ` ${value}`}`;
  const middle = ({ variables = [] }: Flag) => variables.join(', ');
  const all = [...flags, ...commonFlags];
  const widest = Math.max(...all.map(flag => left(flag).length)) + 2;
  return all.map(flag => {
    const where = middle(flag) === '' ? '' : ` [${middle(flag)}]`;
    return `${left(flag).padEnd(widest)}${flag.help}${where}`;
  });
};
