<?php
// SPDX-License-Identifier: Apache-2.0
// The drivers' workload in PHP: `php workload.php mysqli|pdo`.
declare(strict_types=1);

const INSERT = 'INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
$large = (int) (getenv('QT_LARGE') ?: 200000);
$row = fn (string $name, int $qty): array => [$name, $qty, '12345.67', '2026-02-28 23:59:59.123456', '1999-12-31',
    implode('', array_map('chr', range(0, 255))), null, '18446744073709551615', 0.1];

function expectFailure(callable $act): void
{
    try {
        $act();
    } catch (Throwable) {
        return;
    }
    throw new RuntimeException('an error was expected');
}

function throughMysqli(int $large, callable $row): void
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $con = mysqli_init();
    $con->options(MYSQLI_OPT_LOCAL_INFILE, 1);
    $con->real_connect(getenv('QT_HOST'), getenv('QT_USER'), getenv('QT_PASSWORD') ?: '', getenv('QT_DB'), (int) getenv('QT_PORT'));
    $con->set_charset('utf8mb4');
    $con->query("INSERT INTO steps (what) VALUES ('text')");
    $con->query('/* app:shop */ SELECT COUNT(*) FROM steps -- behind')->fetch_all();
    expectFailure(fn () => $con->query('SELECT nothing FROM nowhere'));
    $statement = $con->prepare(INSERT);
    for ($n = 0; $n < 5; $n++) {
        $statement->execute($row("p$n", $n));
    }
    $statement->close();
    $statement = $con->prepare('SELECT id, name, made, raw FROM items WHERE qty = ?');
    for ($n = 0; $n < 3; $n++) {
        $statement->execute([$n]);
        $statement->get_result()->fetch_all();
    }
    $statement->close();
    for ($n = 0; $n < 3; $n++) {
        $con->begin_transaction();
        $con->query("INSERT INTO steps (what) VALUES ('transaction $n')");
        $n === 1 ? $con->rollback() : $con->commit();
    }
    $statement = $con->prepare('REPLACE INTO large VALUES (1, ?)');
    $blob = null;
    $statement->bind_param('b', $blob);
    foreach (str_split(str_repeat("x'\n", intdiv($large, 3)), 50000) as $piece) {
        $statement->send_long_data(0, $piece);
    }
    $statement->execute();
    $statement->close();
    $con->multi_query("INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two'); SELECT 3");
    while ($con->more_results() && $con->next_result()) {
        $con->store_result();
    }
    $con->query("CALL add_item('from php')")->fetch_all();
    while ($con->more_results() && $con->next_result()) {
        $con->store_result();
    }
    $con->change_user(getenv('QT_USER'), getenv('QT_PASSWORD') ?: '', getenv('QT_DB'));
    $con->query("INSERT INTO steps (what) VALUES ('another user')");
    $con->close();
}

function throughPdo(int $large, callable $row): void
{
    foreach ([false, true] as $emulate) {
        $con = new PDO(
            sprintf('mysql:host=%s;port=%s;dbname=%s;charset=utf8mb4', getenv('QT_HOST'), getenv('QT_PORT'), getenv('QT_DB')),
            getenv('QT_USER'),
            getenv('QT_PASSWORD') ?: '',
            [PDO::ATTR_EMULATE_PREPARES => $emulate, PDO::MYSQL_ATTR_LOCAL_INFILE => true, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION],
        );
        $con->exec("INSERT INTO steps (what) VALUES ('text')");
        expectFailure(fn () => $con->query('SELECT nothing FROM nowhere'));
        $statement = $con->prepare(INSERT);
        for ($n = 0; $n < 5; $n++) {
            $statement->execute($row("p$n", $n));
        }
        $statement = $con->prepare('SELECT id, name, made, raw FROM items WHERE qty = ?');
        for ($n = 0; $n < 3; $n++) {
            $statement->execute([$n]);
            $statement->fetchAll();
        }
        for ($n = 0; $n < 3; $n++) {
            $con->beginTransaction();
            $con->exec("INSERT INTO steps (what) VALUES ('transaction $n')");
            $n === 1 ? $con->rollBack() : $con->commit();
        }
        $statement = $con->prepare('REPLACE INTO large VALUES (1, ?)');
        $statement->execute([str_repeat("x'\n", intdiv($large, 3))]);
        $file = tempnam(sys_get_temp_dir(), 'qt-');
        file_put_contents($file, implode('', array_map(fn ($n) => "$n\tline $n\n", range(0, 499))));
        $con->exec("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded");
        unlink($file);
        $con = null;
    }
}

$argv[1] === 'mysqli' ? throughMysqli($large, $row) : throughPdo($large, $row);
