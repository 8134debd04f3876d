/** Everything that makes a schema, in words, one to a line: two that read alike are alike. */

import type { Store } from '../../src/store/store.ts';

export const schemaQuery: Readonly<Record<Store['engine'], string>> = {
  sqlite: `
    select type || ' ' || name || ' on ' || tbl_name || ': ' || coalesce(sql, '') as line
    from sqlite_schema
    order by line`,
  postgres: `
    select format('column %s.%s %s %s %s', cast(attrelid as regclass), attname, format_type(atttypid, atttypmod),
      case when attnotnull then 'not null' else '' end, pg_get_expr(adbin, adrelid)) as line
    from pg_attribute
    join pg_class on pg_class.oid = attrelid and relkind = 'r' and relnamespace = cast('public' as regnamespace)
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped
    union all
    select format('constraint %s on %s: %s', conname, cast(conrelid as regclass), pg_get_constraintdef(oid))
    from pg_constraint
    where connamespace = cast('public' as regnamespace)
    union all
    select format('index %s', pg_get_indexdef(indexrelid))
    from pg_index
    join pg_class on pg_class.oid = indrelid and relnamespace = cast('public' as regnamespace)
    union all
    select format('domain %s %s %s', typname, format_type(typbasetype, typtypmod), cast(typcollation as regcollation))
    from pg_type
    where typtype = 'd' and typnamespace = cast('public' as regnamespace)
    order by line`,
};
