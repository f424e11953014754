<?php
// What PHP reads in the queries on stdin: $_GET is made by the same code.
function reading(string $query): array {
    parse_str($query, $read);
    $page = $read['page'] ?? null;
    return ['rows' => $read['rows'] ?? null, 'size' => is_array($page) ? $page['size'] ?? null : null];
}
error_reporting(0);
$queries = json_decode(stream_get_contents(STDIN));
echo json_encode(array_map('reading', $queries), JSON_INVALID_UTF8_SUBSTITUTE);
