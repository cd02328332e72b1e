// Where a person writes. It says where the message will go before it is sent, and one click changes that. What waits behind a
// running turn stands above it and can be taken back.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, ask } from "../api/client";
import { client, projectsQuery } from "../api/queries";
import type { QueuedInput, Reply, Task } from "../api/types";
import { useSay } from "../i18n";
import { useKeys } from "../ui/keys";
import { tellProblem } from "../ui/notice";
import { AttachmentList, useAttachments } from "./attachments";
import { CommandHints, useCommands } from "./commands";
import { conversation, messageKey } from "./conversation";
import { clearDraft, useDraft } from "./draft";
import { ReplyPanel } from "./ReplyPanel";
import { TargetLine, useTarget } from "./target";

type Props = {
  /** The task that is written to; none on the home page. */
  name?: string;
  /** What is known of it, once it is. */
  task?: Task | undefined;
  execution?: string | undefined;
};

export function Composer({ name, task, execution }: Props) {
  const say = useSay();
  const place = name ?? "";
  const navigate = useNavigate();
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useDraft(place);
  const projects = useQuery(projectsQuery).data?.projects ?? [];
  const target = useTarget(name, task, execution, projects, text);
  const files = useAttachments();
  const [reply, setReply] = useState<Reply>();
  const commands = useCommands(task, text, setText, area);
  const running = task?.executions.some((each) => each.active_turn) ?? false;
  useGrowing(area, text);
  useKeys({ r: () => area.current?.focus(), c: () => area.current?.focus() });

  const send = useMutation({
    mutationFn: async ({ text, interrupt }: { text: string; interrupt: boolean }) => {
      const blocks = await files.upload();
      // Whoever is quicker than the first answer still writes to a project.
      const { projects } = await client.ensureQueryData(projectsQuery);
      const { project, address } = target.place(projects);
      const body = { text, ...(blocks.length ? { content: blocks } : {}), ...address, ...(interrupt ? { interrupt } : {}) };
      const id = await conversation(project);
      return ask(
        api.POST("/api/v1/conversations/{id}/messages", {
          params: { path: { id }, header: { "Idempotency-Key": messageKey(body) } },
          body,
        }),
      );
    },
    onSuccess: (sent, { text }) => {
      clearDraft(place, text);
      files.clear();
      target.reset();
      void client.invalidateQueries({ queryKey: ["tasks"] });
      setReply(sent.reply ?? undefined);
      if (sent.task && sent.task.key !== (task?.key ?? name)) void navigate({ to: "/tasks/$key", params: { key: sent.task.key } });
      else if (name) void client.invalidateQueries({ queryKey: ["task", name] });
    },
    onError: tellProblem,
  });
  const ready = (text.trim() !== "" || files.list.length > 0) && !send.isPending;
  const submit = (interrupt: boolean) => ready && send.mutate({ text, interrupt });

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit(false);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        files.add(event.dataTransfer.files);
      }}
    >
      {reply && <ReplyPanel reply={reply} onDone={() => setReply(undefined)} />}
      {task && <Queue task={task} onEdit={(was) => setText(was)} />}
      <TargetLine target={target} task={task} projects={projects} />
      <CommandHints {...commands} />
      <AttachmentList files={files} />
      <div className="composer-row">
        <label className="attach" title={say("composer.attach")}>
          <span aria-hidden="true">＋</span>
          <span className="visually-hidden">{say("composer.attach")}</span>
          <input type="file" multiple onChange={(event) => event.target.files && files.add(event.target.files)} />
        </label>
        <textarea
          ref={area}
          rows={1}
          dir="auto"
          value={text}
          placeholder={say(name ? "composer.placeholder.task" : "composer.placeholder")}
          aria-label={say("composer.label")}
          onChange={(event) => setText(event.target.value)}
          onPaste={(event) => event.clipboardData.files.length && files.add(event.clipboardData.files)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing || commands.press(event)) return;
            if (event.key === "Escape") area.current?.blur();
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            submit(running && (event.metaKey || event.ctrlKey));
          }}
        />
        {running && ready && (
          <button type="button" className="plain" onClick={() => submit(true)}>
            {say("composer.interrupt")}
          </button>
        )}
        <button type="submit" className="primary send" disabled={!ready}>
          {say(send.isPending ? "composer.sending" : "composer.send")}
        </button>
      </div>
    </form>
  );
}

/** As tall as what is written, within reason; CSS has the bound. */
function useGrowing(area: React.RefObject<HTMLTextAreaElement | null>, text: string) {
  useEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [area, text]);
}

function Queue({ task, onEdit }: { task: Task; onEdit: (text: string) => void }) {
  const say = useSay();
  const waiting = task.executions.flatMap((execution) => execution.queue);
  const withdraw = useMutation({
    mutationFn: (input: QueuedInput) => ask(api.DELETE("/api/v1/inputs/{id}", { params: { path: { id: input.input } } })),
    onError: tellProblem,
    onSettled: () => void client.invalidateQueries({ queryKey: ["task", task.key] }),
  });
  if (waiting.length === 0) return null;
  return (
    <ol className="queue" aria-label={say("composer.queue")}>
      {waiting.map((input) => {
        const text = input.content.map((block) => (block.type === "text" ? block.text : (block.name ?? ""))).join(" ");
        return (
          <li key={input.input}>
            <span className="queue-text" dir="auto">
              {text}
            </span>
            <button type="button" className="plain" onClick={() => withdraw.mutate(input, { onSuccess: () => onEdit(text) })}>
              {say("composer.edit")}
            </button>
            <button type="button" className="plain" onClick={() => withdraw.mutate(input)}>
              {say("composer.withdraw")}
            </button>
          </li>
        );
      })}
    </ol>
  );
}
