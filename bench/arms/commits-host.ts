/** One row, one durable commit, and again: the least that a write can cost that is not shared with another. */

import { DatabaseSync } from 'node:sqlite';
import { idOf } from '../world/names.ts';
import { host, type Works } from './hosted.ts';

/** Beyond the numbers of every world. */
const beyond = 10_000_000;

host(({ url }: { readonly url: string }): Works => {
  const database = new DatabaseSync(url.replace(/^sqlite:/, ''));
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = off');
  const add = database.prepare(`
    insert into team_projects (id, organization_id, project_id, team_id, access, chosen, beyond, created_at)
    values (?, ?, ?, ?, 'write', null, null, ?)`);
  const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')];
  const [organization, now] = [idOf('org', 0), new Date().toISOString()];
  let number = beyond;
  return {
    create: () => {
      number++;
      begin.run();
      add.run(idOf('tprj', number), organization, idOf('prj', number), idOf('team', number), now);
      commit.run();
    },
  };
});
