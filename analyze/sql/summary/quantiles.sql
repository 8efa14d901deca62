-- SPDX-License-Identifier: Apache-2.0
-- Which service times does each digest have in each run? Several analyses read these quantiles.
--
-- - paired: whether the row is for the paired events only.
-- - p: the quantiles 0.5, 0.9, 0.95, 0.99 and 0.999.
-- - median: the mean of both middle values.
--
-- Input: the table service_bins.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/quantiles.sql
CREATE OR REPLACE TEMP TABLE digest_partly AS
SELECT digest FROM service_bins WHERE digest IS NOT NULL GROUP BY digest HAVING sum(pairs) < sum(n);

CREATE OR REPLACE TEMP VIEW digest_bins AS
SELECT {'digest': digest, 'run': run, 'paired': false} AS key, bin, n, least FROM service_bins WHERE digest IS NOT NULL
UNION ALL
SELECT {'digest': digest, 'run': run, 'paired': true}, bin, pairs, least FROM service_bins WHERE pairs > 0 AND digest IN (FROM digest_partly);

CREATE OR REPLACE TABLE digest_quantiles AS
WITH found AS (
    FROM values_at('digest_bins', 'usual', 89)
), digests AS (
    FROM found
    UNION ALL
    SELECT {'digest': key.digest, 'run': key.run, 'paired': true}, p FROM found WHERE NOT key.paired AND key.digest NOT IN (FROM digest_partly)
)
SELECT key.digest AS digest, key.run AS run, key.paired AS paired, p, (p[1] + p[6]) / 2 AS median FROM digests;
