package sqllock

// texts are the statements of a dialect.
type texts struct {
	now                string
	versioned, version string

	grant, renew, free        string // for a single owner, in one statement
	handOver                  string // frees the key and serves the first owner in the queue; PostgreSQL only
	lease, lock, insert, save string
	watch                     string // a waiter's probe

	first, enter, own, restore, here, leave, serve, challenge, remind, count string // for places
	notify                                                                   string // notifies a process that a key is kept

	book    string // the record of leases that were taken
	putBook put

	silent, idle, outdated string // find places, leases and books that are no longer used

	insertSeries, keys, revisions  string
	putSeries, putOpened, putLines put
	lines, older, cutLines, weigh  string

	beginAudit, lockAudit, lastAudit, record, cutAudit, audit, auditOf string

	insertOutput, putOutput, outputSizes, cutOutputs, output string

	beat, quit, next, last, within string // for nodes: next and last read them in the order of their times
}

// dayMicros is a day: a fence lies at most this far ahead of the clock.
const dayMicros = "86400000000"

const leaseColumns = "owner, fence, until_us, place, holders"

func (g *grammar) texts() texts {
	const lease, places = "ns = ? AND name = ?", "cronce_places WHERE ns = ? AND name = ?"
	const nodes = "SELECT node, until_us, ahead_ms FROM cronce_nodes WHERE ns = ? AND "
	return texts{
		now:       g.text("SELECT {clock}, {server}"),
		versioned: g.text(g.versioned),
		version:   g.text("SELECT max(version) FROM cronce_version"),

		// A key is granted in one statement if it is free and no owner waits, or if it is kept for
		// the caller, provided that its fence lies at most a day ahead.
		grant: g.yielding(update{
			sets:   "owner = $1, until_us = {now} + $2, place = 0, holders = '', used_day = {now} {divide} 86400000000",
			column: "fence", value: "{greatest}(fence + 1, {now}, $3)",
			where: "ns = $4 AND name = $5 AND ((place = 0 AND until_us <= {now} AND NOT EXISTS (SELECT 1 FROM cronce_places w" +
				" WHERE w.ns = cronce_leases.ns AND w.name = cronce_leases.name)) OR (owner = $6 AND place <> 0)) AND {greatest}(fence, $7) < {now} + " + dayMicros,
		}),
		renew: g.yielding(update{
			sets:   "place = 0",
			column: "until_us", value: "{now} + $1",
			where: "ns = $2 AND name = $3 AND owner = $4 AND fence = $5 AND place = 0 AND until_us > {now}",
		}),
		free: g.text("UPDATE cronce_leases SET owner = '', until_us = 0 WHERE {usable}" + lease +
			" AND owner = ? AND place = 0 AND fence BETWEEN ? AND ? AND until_us > {clock}" +
			" AND NOT EXISTS (SELECT 1 FROM cronce_places w WHERE w.ns = cronce_leases.ns AND w.name = cronce_leases.name)"),
		handOver: g.handOver(),

		lease: g.text("SELECT " + leaseColumns + ", {clock} FROM cronce_leases WHERE " + lease),
		lock:  g.locked(leaseColumns, "cronce_leases WHERE "+lease),
		insert: g.text("INSERT INTO cronce_leases (ns, name, " + leaseColumns + ", used_day)" +
			" VALUES (?, ?, '', 0, 0, 0, '', {clock} {divide} 86400000000){nothing}"),
		save: g.text("UPDATE cronce_leases SET owner = ?, fence = ?, until_us = ?, place = ?, holders = ?, used_day = ? WHERE " + lease),
		watch: g.text("SELECT l.owner, l.fence, l.until_us, l.place, l.holders, {clock}, coalesce(p.place, 0), coalesce(p.asked_us, 0)," +
			" (SELECT count(*) FROM cronce_places a WHERE a.ns = l.ns AND a.name = l.name AND a.place < p.place" +
			" AND " + waits("a.asked_us", "{clock}") + ")," +
			" coalesce((SELECT min(a.asked_us) FROM cronce_places a WHERE a.ns = l.ns AND a.name = l.name AND a.place < p.place AND a.asked_us > 0), 0)" +
			" FROM cronce_leases l LEFT JOIN cronce_places p ON p.ns = l.ns AND p.name = l.name AND p.owner = ?" +
			" WHERE l.ns = ? AND l.name = ?"),

		first: g.text("SELECT place, owner, most, party, ttl_us, seen_fence, asked_us FROM " + places + " AND " + waits("asked_us", "?") +
			" ORDER BY place LIMIT 1"),
		own: g.text("SELECT place, owner, most, party, ttl_us, seen_fence, asked_us FROM " + places + " AND owner = ? AND most <= 1"),
		enter: g.lazily("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us)",
			g.whereUsable("?")+", ?, ?, ?, ?, ?, ?, 0", "{nothing}"),
		restore: g.text("INSERT INTO cronce_places (ns, name, place, owner, party, most, ttl_us, seen_fence, asked_us)" +
			" VALUES (?, ?, ?, ?, '', ?, 0, 0, ?){nothing}"),
		here: g.text("UPDATE cronce_places SET asked_us = 0, party = ?, ttl_us = CASE WHEN owner = ? THEN ? ELSE ttl_us END," +
			" seen_fence = CASE WHEN owner = ? THEN ? ELSE seen_fence END" +
			" WHERE {usable}" + lease + " AND (owner = ? OR party = ? AND asked_us <> 0)"),
		leave:     g.text("DELETE FROM cronce_places WHERE {usable}" + lease + " AND owner = ?"),
		serve:     g.text("DELETE FROM " + places + " AND place = ?"),
		challenge: g.text("UPDATE cronce_places SET asked_us = ? WHERE " + lease + " AND asked_us = 0 AND place <= ?"),
		remind: g.text("UPDATE cronce_places SET asked_us = ? WHERE {usable}" + lease +
			" AND place <= ? AND asked_us BETWEEN 1 AND ? AND {clock} <= ?"),
		count:  g.text("SELECT count(*) FROM " + places + " AND " + waits("asked_us", "?")),
		notify: "SELECT pg_notify($1, $2)",

		silent:   g.text("SELECT place FROM cronce_places WHERE ns = ? AND (asked_us BETWEEN 1 AND ? OR asked_us BETWEEN ? AND -1) LIMIT ?{skip}"),
		idle:     g.text("SELECT name FROM cronce_leases WHERE ns = ? AND used_day < ? AND until_us < ? LIMIT ?{skip}"),
		outdated: g.text("SELECT name FROM cronce_taken WHERE ns = ? AND until_us < ? LIMIT ?{skip}"),

		book:    g.text("SELECT book, {clock} FROM cronce_taken WHERE " + lease),
		putBook: put{"INSERT INTO cronce_taken (ns, name, until_us, book) VALUES ", g.replacing("ns, name", "until_us", "book")},

		insertSeries: g.text("INSERT INTO cronce_series (ns, name, format, state, revisions, first_line, next_line, bytes)" +
			" VALUES (?, ?, ?, '', '', 0, 0, 0){nothing}"),
		putSeries: put{"INSERT INTO cronce_series (ns, name, format, state, first_line, next_line, bytes, revisions) VALUES ",
			g.replacing("ns, name", "format", "state", "first_line", "next_line", "bytes")},
		putOpened: put{"INSERT INTO cronce_series (ns, name, format, state, first_line, next_line, bytes, revisions) VALUES ",
			g.replacing("ns, name", "format", "state", "first_line", "next_line", "bytes", "revisions")},
		putLines: put{"INSERT INTO cronce_journal (ns, name, n, line) VALUES ", g.replacing("ns, name, n", "line")},
		lines: g.text("SELECT j.n - s.first_line, j.line FROM cronce_journal j JOIN cronce_series s ON s.ns = j.ns AND s.name = j.name" +
			" WHERE j.ns = ? AND j.name = ? ORDER BY j.n DESC LIMIT ?"),
		older:     g.text("SELECT n, line FROM cronce_journal WHERE ns = ? AND name = ? AND n BETWEEN ? AND ? ORDER BY n"),
		cutLines:  g.text("DELETE FROM cronce_journal WHERE ns = ? AND name = ? AND n < ?"),
		keys:      g.text("SELECT name FROM cronce_series WHERE ns = ? AND next_line > 0"),
		revisions: g.text("SELECT revisions, state FROM cronce_series WHERE ns = ? AND name = ?"),
		weigh:     g.text("SELECT sum(bytes) FROM cronce_series WHERE ns = ?"),

		beginAudit: g.text("INSERT INTO cronce_audit (ns, n, name, record) VALUES (?, 0, '', '0'){nothing}"),
		lockAudit:  g.locked("record", "cronce_audit WHERE ns = ? AND n = 0"),
		lastAudit:  g.text("UPDATE cronce_audit SET record = ? WHERE ns = ? AND n = 0"),
		record:     g.text("INSERT INTO cronce_audit (ns, n, name, record) VALUES (?, ?, ?, ?)"),
		cutAudit:   g.text("DELETE FROM cronce_audit WHERE ns = ? AND n BETWEEN 1 AND ?"),
		audit:      g.text("SELECT record FROM cronce_audit WHERE ns = ? AND n > 0 ORDER BY n DESC LIMIT ?"),
		auditOf:    g.text("SELECT record FROM cronce_audit WHERE ns = ? AND name = ? AND n > 0 ORDER BY n DESC LIMIT ?"),

		insertOutput: g.text("INSERT INTO cronce_outputs (ns, name, number, fence, output) VALUES (?, ?, ?, 0, ?){nothing}"),
		putOutput:    g.text("UPDATE cronce_outputs SET fence = ?, output = ? WHERE ns = ? AND name = ? AND number = ? AND fence BETWEEN ? AND ?"),
		outputSizes:  g.text("SELECT number, length(output) FROM cronce_outputs WHERE ns = ? AND name = ? ORDER BY number DESC"),
		cutOutputs:   g.text("DELETE FROM cronce_outputs WHERE ns = ? AND name = ? AND number <= ?"),
		output:       g.text("SELECT fence, output FROM cronce_outputs WHERE ns = ? AND name = ? AND number = ?"),

		beat:   g.text("INSERT INTO cronce_nodes (ns, node, until_us, ahead_ms) VALUES (?, ?, {clock} + ?, ?)" + g.replacing("ns, node", "until_us", "ahead_ms")),
		next:   g.text(nodes + "until_us > ? AND until_us <= ? ORDER BY until_us LIMIT ? OFFSET ?"),
		last:   g.text(nodes + "until_us > ? AND until_us <= ? ORDER BY until_us DESC LIMIT ? OFFSET ?"),
		within: g.text("SELECT node FROM cronce_nodes WHERE ns = ? AND until_us BETWEEN ? AND ? LIMIT ?{skip}"),
		quit:   g.text("UPDATE cronce_nodes SET until_us = -{clock} WHERE ns = ? AND node = ? AND until_us > 0"),
	}
}
