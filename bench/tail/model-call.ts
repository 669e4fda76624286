/** One chat completion, whatever it says. */
export async function callModel(baseUrl: string, apiKey: string, signal?: AbortSignal): Promise<void> {
  const answer = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "2 + 2 = ?" }] }),
    ...(signal ? { signal } : {}),
  });
  await answer.text();
}
