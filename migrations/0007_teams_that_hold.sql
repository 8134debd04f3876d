-- The few teams that hold anything for a whole organization, found by it.
create unique index teams_holding_in on teams (organization_id, id) where organization_access <> 0 or name = 'owners';
