// A pre-flight as an engineer writes it against the generated types: it has to compile under --strict.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080" });

export async function preflight(): Promise<string> {
  const { data, error } = await client.POST("/api/preflight", {
    params: { header: { "X-Operator": "ann" } },
    body: {
      programSlug: "payroll",
      idempotencyKey: "invoice-4471",
      transfer: {
        rail: "wire",
        direction: "outgoing",
        amountCents: "985000",
        counterparty: { name: "New Vendor LLC", accountLast4: "6789", countryCode: "US" },
      },
    },
  });
  if (error !== undefined) {
    const code: components["schemas"]["ErrorCode"] = error.code;
    return code === "validation_failed" ? (error.fields ?? []).map((each) => each.path).join() : code;
  }
  const score: number | null = data.score;
  return `${data.decision} ${score ?? "unscored"}`;
}
